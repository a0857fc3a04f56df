// The problem with |w|_1 over a working set of features, solved by coordinate descent and Newton steps in turn. In
// units of the rows' scales it is
//
//     min |w|_1 + sum_i max over a >= lower of a r_i - a^2 / 2,   r = b - sum_j w_j x_j,
//
// where a_i = max(r_i, lower) are the dual variables: with the scale sqrt(1 / D_ii) these are the losses with a
// curvature.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "binary/l1_columns.hpp"
#include "binary/l1_newton.hpp"
#include "numeric/numbers.hpp"
#include "run/monitor.hpp"
#include "run/random.hpp"

namespace maxmargin {

class L1Subproblem {
  public:
    L1Subproblem(const L1Columns& columns, double lower, bool free_bias, std::uint64_t seed, Monitor& monitor)
        : columns_(columns),
          lower_(lower),
          free_bias_(free_bias),
          monitor_(monitor),
          newton_(columns, monitor),
          random_(seed) {}

    std::vector<double> w;     // of all features
    std::vector<double> b, r;  // one entry per row

    // Descends until its own gap or its own largest violation is small enough, or so many epochs are done. Returns
    // their number. A sweep forward and one back find the weights in use, a Newton step solves for them.
    std::int64_t descend(std::vector<std::uint32_t> features, double small_gap, double small_violation,
                         std::int64_t most_epochs) {
        features_ = std::move(features);
        std::int64_t epochs = 0;
        double before = objective(), last_gap = infinity;
        int idle = 0;
        while (true) {
            const double gap = look_around(before);
            if (gap <= small_gap || violation_ <= small_violation || epochs >= most_epochs || active_.empty() ||
                monitor_.ended()) {
                return epochs;
            }
            random_.shuffle(std::span(active_));
            sweep(active_.begin(), active_.end());
            sweep(active_.rbegin(), active_.rend());
            std::sort(active_.begin(), active_.end());
            epochs += 2;
            double after = objective();
            careful_ = careful_ || after > before * (1.0 + 1e-12);
            after = newton_step(after);
            idle = after < before && gap < last_gap ? 0 : idle + 1;
            if (idle >= most_idle) {
                return epochs;
            }
            before = after;
            last_gap = std::min(gap, last_gap);
        }
    }

    // How far a weight is from its optimum, given the others: 0 where its subgradient contains 0.
    static double violation(double weight, double correlation, double limit) {
        return weight == 0.0 ? std::max(std::abs(correlation) - limit, 0.0)
                             : std::abs(correlation - (weight > 0.0 ? limit : -limit));
    }

    double objective() const {
        double sum = 0.0, losses = 0.0;
        for (const std::uint32_t j : features_) {
            sum += penalty(j) * std::abs(w[j]);
        }
        for (const double value : r) {
            const double e = bounded(value);
            losses += e * (value - 0.5 * e);
        }
        return sum + losses;
    }

    // sum_i a_i x_ij of one feature.
    double correlation(std::size_t j) const { return correlation(columns_[j]); }

  private:
    static constexpr int most_corrections = 3;  // of a step that went too far
    static constexpr int most_idle = 10;
    static constexpr int most_trials = 8;            // of step lengths
    static constexpr double accuracy = 0.03;         // of conjugate gradients
    static constexpr double least_curvature = 0.01;  // of the largest possible

    double bounded(double value) const { return value > lower_ ? value : lower_; }
    double penalty(std::size_t j) const { return free_bias_ && j + 1 == columns_.count() ? 0.0 : 1.0; }

    // The gap of the working set, by its own scaled variables, and the features that are worth a visit.
    double look_around(double value) {
        double largest = 0.0, linear = 0.0, quadratic = 0.0;
        active_.clear();
        violation_ = 0.0;
        for (const std::uint32_t j : features_) {
            if (monitor_.poll(columns_.size(j))) {
                return 0.0;
            }
            const double c = correlation(j), limit = penalty(j);
            if (limit > 0.0) {
                largest = std::max(largest, std::abs(c));
            }
            if (w[j] != 0.0 || std::abs(c) > limit || limit == 0.0) {
                active_.push_back(j);
                violation_ = std::max(violation_, violation(w[j], c, limit));
            }
        }
        for (std::size_t i = 0; i < r.size(); ++i) {
            const double a = bounded(r[i]);
            linear += a * b[i];
            quadratic += 0.5 * a * a;
        }
        const double best = quadratic > 0.0 ? 0.5 * linear / quadratic : 1.0;
        const double factor = std::max(std::min(largest > 0.0 ? 1.0 / largest : infinity, best), 0.0);
        return value - factor * (linear - factor * quadratic);
    }

    // A Newton step: over the active features where a matrix pays, else over the weights in use, which may go down to
    // zero but not beyond. Returns the objective.
    double newton_step(double value) {
        if (monitor_.ended()) {
            return value;
        }
        curved_.resize(r.size());
        for (std::size_t i = 0; i < r.size(); ++i) {
            curved_[i] = r[i] > lower_;
        }
        moving_ = active_;
        if (!newton_.begin(moving_, curved_)) {
            return value;
        }
        const bool matrix = newton_.is_small();
        if (!matrix) {
            std::erase_if(moving_, [this](std::uint32_t j) { return w[j] == 0.0 && penalty(j) > 0.0; });
            if (moving_.empty() || !newton_.begin(moving_, curved_)) {
                return value;
            }
        }
        old_.resize(moving_.size());
        direction_.resize(moving_.size());
        for (std::size_t p = 0; p < moving_.size(); ++p) {
            const std::uint32_t j = moving_[p];
            old_[p] = w[j];
            direction_[p] = correlation(j) - (matrix ? 0.0 : penalty(j) * (w[j] > 0.0 ? 1.0 : -1.0));
        }
        if (matrix) {
            penalties_.resize(moving_.size());
            for (std::size_t p = 0; p < moving_.size(); ++p) {
                penalties_[p] = penalty(moving_[p]);
            }
            aim_ = old_;
            if (!newton_.minimise(direction_, penalties_, 0.01 * violation_, aim_)) {
                return value;
            }
            for (std::size_t p = 0; p < moving_.size(); ++p) {
                direction_[p] = aim_[p] - old_[p];
            }
        } else if (!newton_.solve(direction_, accuracy)) {
            return value;
        }
        change_.assign(r.size(), 0.0);
        for (std::size_t p = 0; p < moving_.size(); ++p) {
            for (const ColumnEntry& entry : columns_[moving_[p]]) {
                change_[entry.row] += direction_[p] * entry.value;
            }
        }
        old_r_ = r;
        double t = 1.0;
        for (int trial = 0; trial < most_trials && !monitor_.ended(); ++trial, t *= 0.5) {
            for (std::size_t i = 0; i < r.size(); ++i) {
                r[i] = old_r_[i] - t * change_[i];
            }
            for (std::size_t p = 0; p < moving_.size(); ++p) {
                const std::uint32_t j = moving_[p];
                double next = old_[p] + t * direction_[p];
                if (!matrix && penalty(j) > 0.0 && next * old_[p] < 0.0) {
                    for (const ColumnEntry& entry : columns_[j]) {
                        r[entry.row] += next * entry.value;
                    }
                    next = 0.0;
                }
                w[j] = matrix && t == 1.0 ? aim_[p] : next;
            }
            const double now = objective();
            if (now < value) {
                return now;
            }
        }
        r.swap(old_r_);
        for (std::size_t p = 0; p < moving_.size(); ++p) {
            w[moving_[p]] = old_[p];
        }
        return value;
    }

    template <class Iterator>
    double sweep(Iterator begin, Iterator end) {
        double moved = 0.0;
        for (; begin != end && !monitor_.poll(2 * columns_.size(*begin)); ++begin) {
            moved += step(*begin);
        }
        return moved;
    }

    // Minimises over one weight by a Newton step, corrected by the secant where rows that it wakes make it too long.
    // Returns the length of the step.
    double step(std::size_t j) {
        const std::span<const ColumnEntry> column = columns_[j];
        const double most = columns_.square(j), penalised = penalty(j), weight = w[j];
        double curvature = 0.0;
        const double correlation = both_derivatives(column, curvature);
        curvature = std::max(curvature, (careful_ ? 0.5 : least_curvature) * most);
        if (!(curvature > 0.0) || (weight == 0.0 && std::abs(correlation) <= penalised)) {
            return 0.0;
        }
        const double aim = weight + correlation / curvature, threshold = penalised / curvature;
        const double next = aim > threshold ? aim - threshold : aim < -threshold ? aim + threshold : 0.0;
        double d = next - weight;
        if (d == 0.0) {
            return 0.0;
        }
        // The slopes along the step, at its begin and at its end: the first is negative.
        auto slope = [&](double at, double c) {
            const double side = at != 0.0 ? (at > 0.0 ? 1.0 : -1.0) : (d > 0.0 ? 1.0 : -1.0);
            return (penalised * side - c) * (d > 0.0 ? 1.0 : -1.0);
        };
        const double first = slope(weight, correlation);
        double at = next, c = move(column, d);
        double last = at == 0.0 ? slope(-d, c) : slope(at, c);
        double far = d;
        for (int trial = 0; trial < most_corrections && last > -0.5 * first; ++trial) {
            const double shorter = far * first / (first - last);
            c = move(column, shorter - far);
            far = shorter;
            at = weight + far;
            last = slope(at, c);
        }
        w[j] = at;
        return std::abs(far);
    }

    // Loops over entries have four sums, so that none waits for the one before, and no jumps, which would mispredict.
    double correlation(std::span<const ColumnEntry> column) const {
        double sums[4] = {};
        const std::size_t whole = column.size() / 4 * 4;
        for (std::size_t p = 0; p < whole; p += 4) {
            for (std::size_t q = 0; q < 4; ++q) {
                sums[q] += bounded(r[column[p + q].row]) * column[p + q].value;
            }
        }
        for (const ColumnEntry& entry : column.subspan(whole)) {
            sums[0] += bounded(r[entry.row]) * entry.value;
        }
        return (sums[0] + sums[1]) + (sums[2] + sums[3]);
    }

    double both_derivatives(std::span<const ColumnEntry> column, double& curvature) const {
        double sums[4] = {}, squares[4] = {};
        auto add = [&](const ColumnEntry& entry, std::size_t q) {
            const double value = r[entry.row], e = bounded(value);
            sums[q] += e * entry.value;
            squares[q] += static_cast<double>(value > lower_) * (entry.value * entry.value);
        };
        const std::size_t whole = column.size() / 4 * 4;
        for (std::size_t p = 0; p < whole; p += 4) {
            for (std::size_t q = 0; q < 4; ++q) {
                add(column[p + q], q);
            }
        }
        for (const ColumnEntry& entry : column.subspan(whole)) {
            add(entry, 0);
        }
        curvature = (squares[0] + squares[1]) + (squares[2] + squares[3]);
        return (sums[0] + sums[1]) + (sums[2] + sums[3]);
    }

    // Moves the weight of a column; the correlation after it.
    double move(std::span<const ColumnEntry> column, double d) {
        double sums[4] = {};
        auto add = [&](const ColumnEntry& entry, std::size_t q) {
            const double value = r[entry.row] -= d * entry.value;
            sums[q] += bounded(value) * entry.value;
        };
        const std::size_t whole = column.size() / 4 * 4;
        for (std::size_t p = 0; p < whole; p += 4) {
            for (std::size_t q = 0; q < 4; ++q) {
                add(column[p + q], q);
            }
        }
        for (const ColumnEntry& entry : column.subspan(whole)) {
            add(entry, 0);
        }
        return (sums[0] + sums[1]) + (sums[2] + sums[3]);
    }

    const L1Columns& columns_;
    double lower_;
    bool free_bias_;
    Monitor& monitor_;
    L1Newton newton_;
    std::vector<std::uint32_t> features_, active_, moving_;
    std::vector<double> direction_, penalties_, aim_, change_, old_, old_r_;
    std::vector<char> curved_;
    double violation_ = 0.0;
    bool careful_ = false;
    Random random_;
};

}  // namespace maxmargin
