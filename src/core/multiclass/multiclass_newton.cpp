// Newton's method for several classes at once, for few weights in all (features times classes): with a matrix up to
// some two thousand, by conjugate gradients beyond.
//
// The losses have kinks, so Newton's method needs something smooth. Holding the dual variables near given ones, the
// center, by a curvature makes it so: minimise over w
//
//     1/2 |w|^2 + sum_i max over feasible a of  a'z_i(w) - curvature_i / 2 (|a - center_i|^2 + (sum (a - center_i))^2)
//
// whose gradient is w - w(a), with a the solution of the same sub-problem as in the sequential dual method. When it is
// solved, a is the next center: the proximal point method, or method of multipliers, which converges to the optimum of
// the problem itself whatever the curvature; the smaller that is, the fewer centers it takes, and the more Newton steps
// each. The curvature of a row is a width over its C; the width is the length of the range of slacks that is smooth.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "multiclass/class_system.hpp"
#include "multiclass/methods.hpp"
#include "run/random.hpp"
#include "run/reached.hpp"

namespace maxmargin {
namespace {

template <RowSource Rows>
class MulticlassNewton {
  public:
    MulticlassNewton(MulticlassState& state, MulticlassProblem<Rows>& problem, double tol, std::int64_t max_iter,
                     Monitor& monitor)
        : state_(state),
          problem_(problem),
          tol_(tol),
          max_iter_(max_iter),
          monitor_(monitor),
          system_(problem, monitor),
          solved_far_(system_.is_large() ? 5e-2 : 1e-2),
          all_(rows_taking_part(problem.variables().rows)) {}

    // Whether steps cost so much that few centers, of narrower widths, are the better choice.
    bool steps_are_dear() const { return system_.is_large(); }

    // From weights `w` and the variables of the problem, which need not belong together, to the optimum. If the weights
    // are trusted more than the variables, the first center is what they ask for. A `rough` run is that of a sample: it
    // is about `w` alone, and nobody hears of it.
    Outcome run(std::vector<double>& w, double width, bool trusted, bool rough) {
        center_ = problem_.variables();
        problem_.rebuild_weights(sums_);
        monitor_.expect_check(problem_.pass_cost() / class_block);
        direction_.resize(w.size());
        gradient_.resize(w.size());
        trial_.resize(w.size());
        Outcome outcome;
        double losses = pass(w, width);
        if (trusted) {
            center_ = problem_.variables();
            losses = pass(w, width);
        }
        for (int steps = 0, failures = 0;;) {
            const double primal = Regulariser{}.value(w) + losses;
            const double dual = problem_.dual(sums_);
            double distance = 0.0;  // half the square of the gradient
            for (std::size_t k = 0; k < w.size(); ++k) {
                distance += 0.5 * (sums_[k] - w[k]) * (sums_[k] - w[k]);
            }
            find_curved();
            bool converged = false;
            if (!rough) {
                state_.bounds.offer_weights(primal, w, infinity);
                state_.offer_variables(dual);
                converged = reached(state_, tol_, monitor_);
                monitor_.report(outcome.epochs, static_cast<double>(outcome.epochs), curved_.size(), state_.bounds);
            }
            const double gap = std::max(primal - dual, 0.0);
            const bool near = gap <= close * tol_ * std::abs(primal);
            const bool solved = distance <= (near ? solved_near * std::max(gap, tol_ * primal) : solved_far_ * gap) ||
                                distance <= rounding * primal;
            const bool stuck =
                width < smallest_width || failures > most_failures || !std::isfinite(primal) || (near && solved);
            const bool last = monitor_.look() || outcome.epochs >= max_iter_ || stuck;
            if (converged || last || (rough && near)) {
                const Exit limit = outcome.epochs >= max_iter_ ? Exit::max_iter : Exit::budget;
                outcome.exit = converged ? Exit::converged : monitor_.ended() ? monitor_.exit() : limit;
                return outcome;
            }
            if ((solved && !near) || steps >= most_steps) {
                center_ = problem_.variables();
                width *= steps <= few_steps ? narrowing : solved ? slow_narrowing : 1.0;
                steps = 0;
                losses = pass(w, width);
                continue;
            }
            ++steps;
            ++outcome.epochs;
            for (std::size_t k = 0; k < w.size(); ++k) {
                gradient_[k] = sums_[k] - w[k];
            }
            if (!system_.solve(curved_, gradient_, width, near, direction_)) {
                failures = most_failures + 1;  // the matrix is not positive definite any more
            } else if (!search_line(w, width, losses)) {
                ++failures;
                width *= widening;
                losses = pass(w, width);
            }
        }
    }

  private:
    static constexpr double close = 0.7;  // of the tolerance
    static constexpr double solved_near = 1e-6, rounding = 1e-18;
    static constexpr double narrowing = 0.3, slow_narrowing = 0.6;
    static constexpr double widening = 3.0;
    static constexpr int most_failures = 5;  // of line searches
    static constexpr int few_steps = 6;
    static constexpr double smallest_width = 1e-9;
    static constexpr std::size_t most_work = std::size_t{1} << 24;  // products between two looks at the clock
    static constexpr int most_steps = 15;                           // for one center
    static constexpr int most_trials = 12;                          // in one line search
    static constexpr double flat = 0.4;  // slope at which a line search ends, over that at its start

    // What a pass over some rows finds: new variables, how the weights that belong to them change, and the losses.
    struct Pass {
        double losses = 0.0;
        std::vector<double> sums;
        std::vector<RowIndex> rows;
        std::vector<std::size_t> ends;  // of the lists of these rows
        std::vector<ClassValue> lists;
    };

    // The variables that `w` asks for; returns the losses at `w`, or not a number when time has run out.
    double pass(const std::vector<double>& w, double width) {
        double losses = 0.0;
        for (std::size_t begin = 0, end = 0; begin < all_.size(); begin = end) {
            std::size_t work = 0;
            for (; end < all_.size() && work < most_work; ++end) {
                work += problem_.visit_cost(all_[end]);
            }
            const Chunks chunks(end - begin, work, w.size());
            std::vector<Pass> passes(chunks.count());
            chunks.for_each(monitor_.team(), [&](std::size_t chunk, std::size_t first, std::size_t past) {
                look_at(std::span(all_).subspan(begin + first, past - first), w, width, passes[chunk]);
            });
            for (const Pass& own : passes) {
                losses += own.losses;
                dense_axpy(1.0, own.sums.data(), sums_.data(), sums_.size());
                for (std::size_t k = 0, from = 0; k < own.rows.size(); from = own.ends[k++]) {
                    problem_.variables().assign(own.rows[k], std::span(own.lists).subspan(from, own.ends[k] - from));
                }
            }
            if (monitor_.poll(work / class_block)) {
                return std::numeric_limits<double>::quiet_NaN();
            }
        }
        return losses;
    }

    void look_at(std::span<const RowIndex> rows, const std::vector<double>& w, double width, Pass& found) const {
        MulticlassProblem<Rows> problem(problem_.rows(), problem_.variables(), problem_.formulation(),
                                        problem_.classes(), problem_.bias());
        RowStep step;
        found.sums.resize(w.size());
        for (const RowIndex i : rows) {
            found.losses += problem.look_near(i, w.data(), center_, width / problem.variables().rows[i].C, step);
            if (step.moves) {
                problem.add(i, step, found.sums.data());
                found.rows.push_back(i);
                found.lists.insert(found.lists.end(), step.variables.begin(), step.variables.end());
                found.ends.push_back(found.lists.size());
            }
        }
    }

    // The rows that have a variable between its bounds.
    void find_curved() {
        curved_.clear();
        for (const RowIndex i : all_) {
            if (!problem_.at_bounds(i)) {
                curved_.push_back(i);
            }
        }
    }

    // Along the direction the slope of the objective rises steadily; a point where it is small is looked for between
    // two points of different sign, by false position (the Illinois variant). Moves `w` to a point that is lower for
    // certain and returns whether there was one.
    bool search_line(std::vector<double>& w, double width, double& losses) {
        double first = 0.0;
        for (std::size_t k = 0; k < w.size(); ++k) {
            first += (w[k] - sums_[k]) * direction_[k];
        }
        double left = 0.0, right = infinity, left_slope = first, right_slope = 0.0, step = 1.0;
        for (int count = 0; count < most_trials && !monitor_.ended(); ++count) {
            const double slope = try_step(w, step, width, losses);
            if (std::abs(slope) <= flat * std::abs(first)) {
                std::swap(w, trial_);
                return true;
            }
            if (slope < 0.0) {
                right_slope *= left > 0.0 ? 0.5 : 1.0;
                left = step;
                left_slope = slope;
            } else {
                left_slope *= right < infinity ? 0.5 : 1.0;
                right = step;
                right_slope = slope;
            }
            if (right == infinity) {
                step *= 2.0;
                continue;
            }
            const double secant = left - left_slope * (right - left) / (right_slope - left_slope);
            step = std::clamp(secant, left + 0.02 * (right - left), right - 0.02 * (right - left));
        }
        try_step(w, left, width, losses);
        std::swap(w, trial_);
        return left > 0.0;
    }

    // The slope of the objective at a point of the line, which is left in `trial_`.
    double try_step(const std::vector<double>& w, double step, double width, double& losses) {
        trial_ = w;
        dense_axpy(step, direction_.data(), trial_.data(), trial_.size());
        losses = pass(trial_, width);
        double slope = 0.0;
        for (std::size_t k = 0; k < w.size(); ++k) {
            slope += (trial_[k] - sums_[k]) * direction_[k];
        }
        return slope;
    }

    MulticlassState& state_;
    MulticlassProblem<Rows>& problem_;
    double tol_;
    std::int64_t max_iter_;
    Monitor& monitor_;
    ClassSystem<Rows> system_;
    double solved_far_;  // share of the gap at which a center is solved, until the end is near
    std::vector<RowIndex> all_, curved_;
    MulticlassVariables center_;
    std::vector<double> sums_;  // w(a)
    std::vector<double> gradient_, direction_, trial_;
};

// One row in `one_in`, each for as many, gives weights to start from.
template <class Rows>
void start_from_sample(MulticlassState& state, const Rows& rows, std::size_t one_in, double width,
                       std::int64_t max_iter, Monitor& monitor, std::vector<double>& w) {
    constexpr double rough = 1e-2;
    MulticlassVariables some = state.variables;
    for (std::size_t i = 0; i < some.rows.size(); ++i) {
        some.rows[i].C *= is_sampled(i, one_in) ? static_cast<double>(one_in) : 0.0;
    }
    MulticlassProblem<Rows> part(rows, some, state.formulation, state.classes, state.bias);
    MulticlassNewton<Rows>(state, part, rough, max_iter, monitor).run(w, width, false, true);
}

}  // namespace

Outcome multiclass_newton(MulticlassState& state, const Limits& limits, Monitor& monitor) {
    // Widths to start with: from nothing, from given variables, and from weights that are nearly right.
    constexpr double wide = 10.0, medium = 1.0, less = 0.3, narrow = 0.1;
    constexpr std::size_t one_in = 16, rows_per_weight = 20;
    return state.visit([&]<class Rows>(MulticlassProblem<Rows>& problem) {
        problem.variables() = state.bounds.variables();
        std::vector<double> w = state.bounds.weights();
        const std::vector<MulticlassRow>& rows = problem.variables().rows;
        const bool warm = std::any_of(rows.begin(), rows.end(), [](const MulticlassRow& row) { return row.count > 0; });
        const std::size_t weights = problem.classes() * (problem.rows().features() + 1);
        const bool sampled = !warm && rows.size() / one_in >= rows_per_weight * weights;
        if (sampled) {
            start_from_sample(state, problem.rows(), one_in, wide, limits.max_iter, monitor, w);
        }
        MulticlassNewton<Rows> newton(state, problem, limits.tol, limits.max_iter, monitor);
        const double warm_width = newton.steps_are_dear() ? less : medium;
        return newton.run(w, sampled ? narrow : warm ? warm_width : wide, sampled, false);
    });
}

}  // namespace maxmargin
