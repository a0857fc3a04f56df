// Which rows an epoch visits, and in which order: the concept `RowOrder`, and the orders of the papers.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "binary/problem.hpp"
#include "run/random.hpp"

namespace maxmargin {

template <class Order>
concept RowOrder = requires(Order order, const Order& same, Random& random, std::size_t i, const Variable& v) {
    // The rows of the next epoch, in the order to visit them.
    { order.schedule(random) } -> std::convertible_to<std::span<const RowIndex>>;
    // Asked before the step, with the bounds of the variable and its gradient: leave row i out from now on?
    { order.shrinks(i, v, 0.0, 0.0, 0.0) } -> std::convertible_to<bool>;
    order.gained(i, 0.0);  // told after the step: by how much the dual grew
    order.end_epoch();
    order.restart();  // all rows again: the shrunk problem is solved, the whole one is not
    { same.hidden(i) } -> std::convertible_to<bool>;
    { same.active() } -> std::convertible_to<std::size_t>;
    { same.violation() } -> std::convertible_to<double>;  // M - m of (17), in the last epoch
    // True makes the sweep's own estimate of the gap usable.
    { Order::visits_every_active_row_once } -> std::convertible_to<bool>;
    // Whether iterates wander so much that their mean is worth a look (iterate_average.hpp).
    { Order::wanders } -> std::convertible_to<bool>;
};

enum class Mixing { none, pages, all };

// A permutation of rows. That of `pages` visits rows in random order, but near each other in memory: `pool` random
// pages of `page` neighbouring rows are shuffled together, pool after pool. The rows of a pool stay in cache, and since
// its pages come from all over the matrix, data sorted by class are mixed well enough. Runs of equal rows are not: they
// would be visited within one pool, each but the first in vain.
class Shuffle {
  public:
    static constexpr std::size_t page = 64;
    static constexpr std::size_t pool = 4;

    explicit Shuffle(Mixing mixing) : mixing_(mixing) {}

    void fill(std::span<const RowIndex> rows, std::vector<RowIndex>& schedule, Random& random) {
        if (mixing_ != Mixing::pages) {
            schedule.assign(rows.begin(), rows.end());
            if (mixing_ == Mixing::all) {
                random.shuffle(std::span(schedule));
            }
            return;
        }
        const std::size_t pages = (rows.size() + page - 1) / page;
        order_.resize(pages);
        for (std::size_t p = 0; p < pages; ++p) {
            order_[p] = static_cast<RowIndex>(p);
        }
        random.shuffle(std::span(order_));
        schedule.clear();
        for (std::size_t first = 0; first < pages; first += pool) {
            const std::size_t begin = schedule.size();
            for (std::size_t p = first; p < std::min(first + pool, pages); ++p) {
                const std::size_t start = order_[p] * page;
                const std::size_t end = std::min(start + page, rows.size());
                schedule.insert(schedule.end(), rows.begin() + static_cast<std::ptrdiff_t>(start),
                                rows.begin() + static_cast<std::ptrdiff_t>(end));
            }
            random.shuffle(std::span(schedule).subspan(begin));
        }
    }

  private:
    Mixing mixing_;
    std::vector<RowIndex> order_;
};

// Whether many neighbouring rows are the same, judged by a sample spread over the matrix.
template <class Rows>
bool has_runs_of_equal_rows(const Rows& rows) {
    constexpr std::size_t sample = 1024;
    const std::size_t step = std::max<std::size_t>(rows.size() / sample, 1);
    std::size_t seen = 0, equal = 0;
    for (std::size_t i = 0; i + 1 < rows.size(); i += step) {
        ++seen;
        equal += rows.equal(i, i + 1) ? 1 : 0;
    }
    return equal * 8 > seen;
}

// Pages, unless neighbours are equal.
template <class Rows>
Mixing good_mixing(const Rows& rows) {
    return has_runs_of_equal_rows(rows) ? Mixing::all : Mixing::pages;
}

// Section 3.1 and 3.2 of Hsieh et al.: a permutation per epoch, with shrinking by eq. 16.
class Permuted {
  public:
    static constexpr bool visits_every_active_row_once = true;
    static constexpr bool wanders = false;

    Permuted(std::vector<RowIndex> rows, std::size_t size, bool shrinking, Mixing mixing)
        : rows_(std::move(rows)),
          active_(rows_),
          hidden_(shrinking ? size : 0),
          shuffle_(mixing),
          shrinking_(shrinking) {}

    std::span<const RowIndex> schedule(Random& random) {
        highest_ = -infinity;
        lowest_ = infinity;
        shrunk_ = 0;
        shuffle_.fill(active_, schedule_, random);
        return schedule_;
    }

    bool shrinks(std::size_t i, const Variable& v, double lower, double upper, double G) {
        double violation = G;  // the projected gradient, eq. 8
        if (v.alpha <= lower) {
            if (G > shrink_above_) {
                return hide(i);
            }
            violation = std::min(G, 0.0);
        } else if (v.alpha >= upper) {
            if (G < shrink_below_) {
                return hide(i);
            }
            violation = std::max(G, 0.0);
        }
        highest_ = std::max(highest_, violation);
        lowest_ = std::min(lowest_, violation);
        return false;
    }

    void gained(std::size_t, double) {}

    void end_epoch() {
        if (!shrinking_) {
            return;
        }
        shrink_above_ = highest_ > 0.0 ? highest_ : infinity;
        shrink_below_ = lowest_ < 0.0 ? lowest_ : -infinity;
        if (shrunk_ > 0) {
            std::erase_if(active_, [this](RowIndex i) { return hidden_[i]; });
        }
    }

    void restart() {
        if (active_.size() == rows_.size()) {
            return;
        }
        active_ = rows_;
        std::fill(hidden_.begin(), hidden_.end(), false);
        shrink_above_ = infinity;
        shrink_below_ = -infinity;
    }

    bool hidden(std::size_t i) const { return shrinking_ && hidden_[i]; }
    std::size_t active() const { return active_.size(); }
    double violation() const { return highest_ - lowest_; }

  private:
    bool hide(std::size_t i) {
        hidden_[i] = true;
        ++shrunk_;
        return true;
    }

    std::vector<RowIndex> rows_;
    std::vector<RowIndex> active_;
    std::vector<RowIndex> schedule_;
    std::vector<bool> hidden_;
    Shuffle shuffle_;
    bool shrinking_;
    std::size_t shrunk_ = 0;
    double highest_ = -infinity;
    double lowest_ = infinity;
    double shrink_above_ = infinity;
    double shrink_below_ = -infinity;
};

// Algorithm 2 of Hsieh et al.: every step takes a row at random. An "epoch" is as many steps as there are rows.
class Uniform {
  public:
    static constexpr bool visits_every_active_row_once = false;
    static constexpr bool wanders = false;

    explicit Uniform(std::vector<RowIndex> rows) : rows_(std::move(rows)), schedule_(rows_.size()) {}

    std::span<const RowIndex> schedule(Random& random) {
        const auto size = static_cast<std::uint32_t>(rows_.size());
        for (RowIndex& slot : schedule_) {
            slot = rows_[random.below(size)];
        }
        return schedule_;
    }

    bool shrinks(std::size_t, const Variable&, double, double, double) { return false; }
    void gained(std::size_t, double) {}
    void end_epoch() {}
    void restart() {}
    bool hidden(std::size_t) const { return false; }
    std::size_t active() const { return rows_.size(); }
    double violation() const { return infinity; }

  private:
    std::vector<RowIndex> rows_;
    std::vector<RowIndex> schedule_;
};

// Preferences of rows by what their steps gain (Glasmachers & Dogan): a row is visited in proportion to its preference,
// which grows when its steps gain more than the average step and falls when they gain less ("soft shrinking").
class Frequencies {
  public:
    explicit Frequencies(std::size_t size) : preference_(size, 1.0F) {}

    // As many slots as there are rows.
    void fill(std::span<const RowIndex> rows, std::vector<RowIndex>& schedule, Random& random) const {
        double left = 0.0;  // the preferences not yet passed
        for (const RowIndex i : rows) {
            left += preference_[i];
        }
        schedule.resize(rows.size());
        RowIndex* next = schedule.data();
        RowIndex* const end = next + schedule.size();
        for (const RowIndex i : rows) {
            const double slots = static_cast<double>(end - next);
            const double share = slots * preference_[i] / left;
            auto count = static_cast<std::ptrdiff_t>(share + random.uniform());  // the fraction is a probability
            for (count = std::min(count, end - next); count > 0; --count) {
                *next++ = i;
            }
            left -= preference_[i];
        }
        // Rounding of `left` may leave a slot or two open.
        for (; next != end; ++next) {
            *next = rows[random.below(static_cast<std::uint32_t>(rows.size()))];
        }
        random.shuffle(std::span(schedule));
    }

    // The first epoch only sets the reference: the mean gain of its steps. `fade` is 1 over the number of rows.
    void refer(double gain, double fade) { reference_ += gain * fade; }

    void gained(std::size_t i, double gain, double fade) {
        float& p = preference_[i];
        // Without a reference gain nothing moves any more, and no row deserves to be preferred.
        const double change = gain <= 0.0 || reference_ <= 0.0 ? no_gain : std::exp(rate * (gain / reference_ - 1.0));
        p = static_cast<float>(std::clamp(p * change, lowest, highest));
        reference_ += (gain - reference_) * fade;
    }

    void forget() { std::fill(preference_.begin(), preference_.end(), 1.0F); }

    // Whether a row is not (softly) shrunk to the lowest preference.
    bool prefers(std::size_t i) const { return preference_[i] > 1.5F * static_cast<float>(lowest); }

    void prefetch(std::size_t i) const { __builtin_prefetch(&preference_[i]); }

  private:
    static constexpr double rate = 0.2;
    static constexpr double lowest = 1.0 / 20.0;
    static constexpr double highest = 20.0;
    static constexpr double no_gain = 0.81873075307798182;  // exp(-rate)

    std::vector<float> preference_;
    double reference_ = 0.0;
};

class Adaptive {
  public:
    static constexpr bool visits_every_active_row_once = false;
    static constexpr bool wanders = true;

    Adaptive(std::vector<RowIndex> rows, std::size_t size, Mixing mixing)
        : rows_(std::move(rows)),
          frequencies_(size),
          shuffle_(mixing),
          fade_(1.0 / static_cast<double>(std::max<std::size_t>(rows_.size(), 1))) {}

    std::span<const RowIndex> schedule(Random& random) {
        if (first_epoch_) {
            shuffle_.fill(rows_, schedule_, random);
        } else {
            frequencies_.fill(rows_, schedule_, random);
        }
        return schedule_;
    }

    bool shrinks(std::size_t, const Variable&, double, double, double) { return false; }

    void gained(std::size_t i, double gain) {
        if (first_epoch_) {
            frequencies_.refer(gain, fade_);
        } else {
            frequencies_.gained(i, gain, fade_);
        }
    }

    void end_epoch() { first_epoch_ = false; }

    void restart() {}
    bool hidden(std::size_t) const { return false; }
    double violation() const { return infinity; }
    std::size_t active() const {
        return static_cast<std::size_t>(
            std::count_if(rows_.begin(), rows_.end(), [this](RowIndex i) { return frequencies_.prefers(i); }));
    }

  private:
    std::vector<RowIndex> rows_;
    std::vector<RowIndex> schedule_;
    Frequencies frequencies_;
    Shuffle shuffle_;
    double fade_;
    bool first_epoch_ = true;
};

}  // namespace maxmargin
