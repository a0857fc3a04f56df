// Which rows an epoch visits, and in which order: the interface `RowOrder`, and the orders of the papers.
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
#include "binary/rests.hpp"
#include "numeric/compiler.hpp"
#include "run/random.hpp"

namespace maxmargin {

// Rows at a bound whose gradient is beyond these are left out from now on (eq. 16).
struct ShrinkRule {
    double above = infinity;  // at the lower bound
    double below = -infinity;
};

// What a sweep tells of the rows it visited.
struct Visits {
    double highest = -infinity, lowest = infinity;  // projected gradients, M and m of (16)
    std::size_t count = 0;                          // of steps
    std::vector<RowIndex> shrunk;                   // rows that the rule left out
    std::vector<std::uint8_t> still;                // of each slot of the schedule: others that did not change
    std::vector<double> gains;                      // of each slot of the schedule, for orders that ask for them
};

class RowOrder {
  public:
    virtual ~RowOrder() = default;

    // The rows of the next epoch, in the order to visit them.
    virtual std::span<const RowIndex> schedule(Random& random) = 0;
    virtual ShrinkRule rule() const { return {}; }
    virtual bool asks_for_gains() const { return false; }
    virtual void end_epoch(const Visits&) {}
    virtual void restart() {}  // all rows again: the shrunk problem is solved, the whole one is not
    virtual bool hidden(std::size_t) const { return false; }
    virtual std::size_t active() const = 0;
    // True makes the sweep's own estimate of the gap usable.
    virtual bool visits_every_active_row_once() const { return false; }
    // Whether iterates wander so much that their mean is worth a look (iterate_average.hpp).
    virtual bool wanders() const { return false; }
};

// What makes a class an order; each states it where it is defined.
template <class Candidate>
concept VisitingOrder =
    std::derived_from<Candidate, RowOrder> && requires(Candidate order, Random& random, Visits seen) {
        { order.schedule(random) } -> std::same_as<std::span<const RowIndex>>;
        { order.active() } -> std::same_as<std::size_t>;
        order.end_epoch(seen);
    };

enum class Mixing { none, pages, all };

// A permutation of rows. That of `pages` visits rows in random order, but near each other in memory: some random pages
// of neighbouring rows are shuffled together, pool after pool. The rows of a pool stay in cache, and since its pages
// come from all over the matrix, data sorted by class are mixed well enough. Runs of equal rows are not: they would be
// visited within one pool, each but the first in vain. Rows that fit into the cache together are shuffled as a whole:
// the better they are mixed, the fewer epochs it takes, up to four times fewer.
class Shuffle {
  public:
    // `row_bytes` is what a visit of a typical row reads.
    Shuffle(Mixing mixing, std::size_t row_bytes)
        : mixing_(mixing), row_bytes_(row_bytes), pool_(std::max(least_pool, pool_bytes / (page * row_bytes))) {}

    void fill(std::span<const RowIndex> rows, std::vector<RowIndex>& schedule, Random& random) {
        if (mixing_ != Mixing::pages || rows.size() * row_bytes_ <= cache_bytes) {
            schedule.assign(rows.begin(), rows.end());
            if (mixing_ != Mixing::none) {
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
        for (std::size_t first = 0; first < pages; first += pool_) {
            const std::size_t begin = schedule.size();
            for (std::size_t p = first; p < std::min(first + pool_, pages); ++p) {
                const std::size_t start = order_[p] * page;
                const std::size_t end = std::min(start + page, rows.size());
                schedule.insert(schedule.end(), rows.begin() + static_cast<std::ptrdiff_t>(start),
                                rows.begin() + static_cast<std::ptrdiff_t>(end));
            }
            random.shuffle(std::span(schedule).subspan(begin));
        }
    }

  private:
    static constexpr std::size_t page = 64, least_pool = 4;  // rows, pages
    static constexpr std::size_t pool_bytes = std::size_t{1} << 19, cache_bytes = std::size_t{1} << 24;

    Mixing mixing_;
    std::size_t row_bytes_, pool_;
    std::vector<RowIndex> order_;
};

// What a visit of a typical row reads: its values and indices, its variable, and where they are.
template <class Rows>
std::size_t row_bytes(const Rows& rows) {
    return 64 + 12 * rows.stored() / std::max<std::size_t>(rows.size(), 1);
}

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

// Shrinking (section 3.2 of Hsieh et al.): the rows that take part, without those that seem to stay at a bound. Without
// it no row is ever hidden.
class ActiveRows {
  public:
    ActiveRows(std::vector<RowIndex> rows, std::size_t size, bool shrinking)
        : rows_(std::move(rows)), active_(rows_), hidden_(shrinking ? size : 0), shrinking_(shrinking) {}

    std::span<const RowIndex> rows() const { return active_; }
    std::size_t size() const { return active_.size(); }
    bool hidden(std::size_t i) const { return shrinking_ && hidden_[i]; }
    const ShrinkRule& rule() const { return rule_; }

    // Hides what the rule left out, and makes the rule of the next epoch (eq. 16).
    void end_epoch(const Visits& visits) {
        if (!shrinking_) {
            return;
        }
        rule_.above = visits.highest > 0.0 ? visits.highest : infinity;
        rule_.below = visits.lowest < 0.0 ? visits.lowest : -infinity;
        if (!visits.shrunk.empty()) {
            for (const RowIndex i : visits.shrunk) {
                hidden_[i] = true;
            }
            std::erase_if(active_, [this](RowIndex i) { return hidden_[i]; });
        }
    }

    void restart() {
        if (active_.size() == rows_.size()) {
            return;
        }
        active_ = rows_;
        std::fill(hidden_.begin(), hidden_.end(), false);
        rule_ = {};
    }

  private:
    std::vector<RowIndex> rows_;
    std::vector<RowIndex> active_;
    std::vector<bool> hidden_;
    bool shrinking_;
    ShrinkRule rule_;
};

// Section 3.1 of Hsieh et al.: a permutation per epoch; if asked, of the rows that do not rest.
class Permuted final : public RowOrder {
  public:
    Permuted(std::vector<RowIndex> rows, std::size_t size, bool shrinking, bool resting, const Shuffle& shuffle)
        : active_(std::move(rows), size, shrinking), rests_(size, resting), shuffle_(shuffle) {}

    std::span<const RowIndex> schedule(Random& random) override {
        shuffle_.fill(rests_.begin_epoch(active_.rows()), schedule_, random);
        return schedule_;
    }

    ShrinkRule rule() const override { return active_.rule(); }
    void end_epoch(const Visits& visits) override {
        rests_.end_epoch(schedule_, visits.still);
        active_.end_epoch(visits);
    }
    void restart() override {
        rests_.wake();
        active_.restart();
    }
    bool hidden(std::size_t i) const override { return active_.hidden(i); }
    std::size_t active() const override { return active_.size(); }
    // Rows that rest have no share of the gap, or had none when they were seen last.
    bool visits_every_active_row_once() const override { return true; }

  private:
    ActiveRows active_;
    Rests rests_;
    std::vector<RowIndex> schedule_;
    Shuffle shuffle_;
};
static_assert(VisitingOrder<Permuted>);

// Algorithm 2 of Hsieh et al.: every step takes a row at random. An "epoch" is as many steps as there are rows.
class Uniform final : public RowOrder {
  public:
    explicit Uniform(std::vector<RowIndex> rows) : rows_(std::move(rows)), schedule_(rows_.size()) {}

    std::span<const RowIndex> schedule(Random& random) override {
        const auto size = static_cast<std::uint32_t>(rows_.size());
        for (RowIndex& slot : schedule_) {
            slot = rows_[random.below(size)];
        }
        return schedule_;
    }

    std::size_t active() const override { return rows_.size(); }

  private:
    std::vector<RowIndex> rows_;
    std::vector<RowIndex> schedule_;
};
static_assert(VisitingOrder<Uniform>);

// Preferences of rows by what their steps gain (Glasmachers & Dogan): a row is visited in proportion to its preference,
// which grows when its steps gain more than the average step and falls when they gain less ("soft shrinking").
class Frequencies {
  public:
    explicit Frequencies(std::size_t size) : preference_(size, 1.0F) {}

    // As many slots as there are rows, in any order: rows near each other in memory must not be near each other in
    // time, which can double the epochs on long rows.
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

    void prefetch(std::size_t i) const { MAXMARGIN_PREFETCH(&preference_[i]); }

  private:
    static constexpr double rate = 0.2;
    static constexpr double lowest = 1.0 / 20.0;
    static constexpr double highest = 20.0;
    static constexpr double no_gain = 0.81873075307798182;  // exp(-rate)

    std::vector<float> preference_;
    double reference_ = 0.0;
};

// Where a few rows gain far more than all others, these others are visited alike, however little some of them need it.
// So rows that seem to stay at a bound are set aside altogether, unless the paper's method is asked for.
class Adaptive final : public RowOrder {
  public:
    Adaptive(std::vector<RowIndex> rows, std::size_t size, bool shrinking, const Shuffle& shuffle)
        : active_(std::move(rows), size, shrinking), frequencies_(size), shuffle_(shuffle) {}

    std::span<const RowIndex> schedule(Random& random) override {
        if (first_epoch_) {
            shuffle_.fill(active_.rows(), schedule_, random);
        } else {
            frequencies_.fill(active_.rows(), schedule_, random);
        }
        return schedule_;
    }

    ShrinkRule rule() const override { return active_.rule(); }
    bool asks_for_gains() const override { return true; }

    // The schedule of an epoch is fixed at its start, so that preferences may follow at its end.
    void end_epoch(const Visits& visits) override {
        const double fade = 1.0 / static_cast<double>(std::max<std::size_t>(active_.size(), 1));
        for (std::size_t k = 0; k < visits.gains.size(); ++k) {
            if (first_epoch_) {
                frequencies_.refer(visits.gains[k], fade);
            } else {
                frequencies_.gained(schedule_[k], visits.gains[k], fade);
            }
        }
        first_epoch_ = false;
        active_.end_epoch(visits);
    }

    void restart() override { active_.restart(); }
    bool hidden(std::size_t i) const override { return active_.hidden(i); }
    bool wanders() const override { return true; }
    std::size_t active() const override {
        const std::span<const RowIndex> rows = active_.rows();
        return static_cast<std::size_t>(
            std::count_if(rows.begin(), rows.end(), [this](RowIndex i) { return frequencies_.prefers(i); }));
    }

  private:
    ActiveRows active_;
    std::vector<RowIndex> schedule_;
    Frequencies frequencies_;
    Shuffle shuffle_;
    bool first_epoch_ = true;
};
static_assert(VisitingOrder<Adaptive>);

}  // namespace maxmargin
