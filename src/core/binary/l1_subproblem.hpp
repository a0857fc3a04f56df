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
#include "numeric/simd.hpp"
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

    std::vector<double> w;  // of all features
    std::vector<double> r;  // one entry per row that is looked at

    double strength = 1.0;  // of |w|_1

    // Sweeps of coordinate descent in random order until the largest violation of one is small enough or so much work
    // is done, then a Newton step if that is wanted. Features that stay at zero are left out after their first visit.
    // Returns the work, in entries.
    double descend(std::vector<std::uint32_t> features, double small_violation, double most_work,
                   std::int64_t most_epochs, bool with_newton) {
        features_ = std::move(features);
        active_ = features_;
        epochs_ = 0;
        double before = objective(), work = 0.0;
        violation_ = infinity;
        while (epochs_ < most_epochs && work < most_work && violation_ > small_violation && !active_.empty() &&
               !monitor_.ended()) {
            violation_ = 0.0;
            random_.shuffle(std::span(active_));
            work += visit_active();
            const double after = objective();
            careful_ = careful_ || after > before * (1.0 + 1e-12);
            before = after;
        }
        if (with_newton && !monitor_.ended() && !active_.empty()) {
            std::sort(active_.begin(), active_.end());
            newton_step(before);
        } else if (epochs_ < most_epochs && !monitor_.ended()) {
            // In order, those that were left out as well, and the bias last: steps over a few heavy features would
            // leave the dual variables far from feasible otherwise.
            active_ = features_;
            work += visit_active();
        }
        return work;
    }

    // One visit of each of these features in order, and more epochs over those that are in use then.
    void sweep(std::span<const std::uint32_t> features, std::int64_t epochs) {
        active_.assign(features.begin(), features.end());
        for (epochs_ = 0; epochs_ < epochs && !active_.empty() && !monitor_.ended();) {
            if (epochs_ > 0) {
                random_.shuffle(std::span(active_));
            }
            visit_active();
        }
    }
    std::int64_t epochs() const { return epochs_; }  // of the last descent or sweep

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

  private:
    static constexpr int most_corrections = 3;       // of a step that went too far
    static constexpr int most_trials = 8;            // of step lengths
    static constexpr double accuracy = 0.03;         // of conjugate gradients
    static constexpr double least_curvature = 0.01;  // of the largest possible

    // An epoch over the active features, of which those that stay at zero leave. Returns the work.
    double visit_active() {
        double work = 0.0;
        std::size_t kept = 0;
        for (const std::uint32_t j : active_) {
            const std::size_t entries = 2 * columns_.size(j);
            if (monitor_.poll(entries)) {
                break;
            }
            work += static_cast<double>(entries);
            if (step(j)) {
                active_[kept++] = j;
            }
        }
        active_.resize(kept);
        ++epochs_;
        return work;
    }

    double bounded(double value) const { return value > lower_ ? value : lower_; }
    double penalty(std::size_t j) const { return free_bias_ && j + 1 == columns_.count() ? 0.0 : strength; }

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
            over(columns_[moving_[p]], [&](RowIndex i, double x) { change_[i] += direction_[p] * x; });
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
                    over(columns_[j], [&](RowIndex i, double x) { r[i] += next * x; });
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

    // Minimises over one weight by a Newton step, corrected by the secant where rows that it wakes make it too long.
    // Returns whether it is worth another visit.
    bool step(std::size_t j) {
        const Column column = columns_[j];
        const double most = columns_.square(j), penalised = penalty(j), weight = w[j];
        double curvature = 0.0;
        const double correlation = both_derivatives(column, curvature);
        curvature = std::max(curvature, (careful_ ? 0.5 : least_curvature) * most);
        if (!(curvature > 0.0) || (weight == 0.0 && std::abs(correlation) <= penalised)) {
            return false;
        }
        violation_ = std::max(violation_, violation(weight, correlation, penalised));
        const double aim = weight + correlation / curvature, threshold = penalised / curvature;
        const double next = aim > threshold ? aim - threshold : aim < -threshold ? aim + threshold : 0.0;
        double d = next - weight;
        if (d == 0.0) {
            return true;
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
        for (int trial = 0; trial < most_corrections && first < 0.0 && last > -0.5 * first; ++trial) {
            const double shorter = far * first / (first - last);
            c = move(column, shorter - far);
            far = shorter;
            at = weight + far;
            last = slope(at, c);
        }
        w[j] = at;
        return true;
    }

    template <class Add>
    static void over(const Column& column, const Add& add) {
        for (std::size_t k = 0; k < column.rows.size(); ++k) {
            add(column.rows[k], column.values[k]);
        }
    }

    double correlation(std::size_t j) const {
        double curvature;
        return both_derivatives(columns_[j], curvature);
    }

    double both_derivatives(const Column& column, double& curvature) const {
        return column_slope(column.rows.data(), column.values.data(), column.rows.size(), r.data(), lower_, curvature);
    }

    // Moves the weight of a column; the correlation after it.
    double move(const Column& column, double d) {
        return column_move(column.rows.data(), column.values.data(), column.rows.size(), d, r.data(), lower_);
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
    std::int64_t epochs_ = 0;
    bool careful_ = false;
    Random random_;
};

}  // namespace maxmargin
