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

#include "multiclass/methods.hpp"
#include "numeric/cholesky.hpp"
#include "run/random.hpp"
#include "run/reached.hpp"

namespace maxmargin {
namespace {

constexpr std::size_t most_dense = 2048;  // weights, for a matrix

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
          columns_(problem.rows().features() + 1),
          solved_far_(problem.classes() * columns_ > most_dense ? 5e-2 : 1e-2),
          all_(rows_taking_part(problem.variables().rows)) {}

    // From weights `w` and the variables of the problem, which need not belong together, to the optimum. If the weights
    // are trusted more than the variables, the first center is what they ask for. A `rough` run is that of a sample: it
    // is about `w` alone, and nobody hears of it.
    Outcome run(std::vector<double>& w, double width, bool trusted, bool rough) {
        center_ = problem_.variables();
        problem_.rebuild_weights(sums_);
        monitor_.expect_check(problem_.pass_cost() / class_block);
        direction_.resize(w.size());
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
            if (!find_direction(w, width, near)) {
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
    static constexpr int most_steps = 15;                // for one center
    static constexpr int most_trials = 12;               // in one line search
    static constexpr double flat = 0.4;                  // slope at which a line search ends, over that at its start
    static constexpr std::size_t rows_per_weight = 512;  // that are enough for a matrix
    static constexpr double seconds_per_entry = 5e-9;    // of fresh memory
    static constexpr double good_enough = 0.1;           // residual of a direction, over that of none
    static constexpr int most_products = 100;            // for one direction

    static double dot(const std::vector<double>& a, const std::vector<double>& b) {
        return dense_dot(a.data(), b.data(), a.size());
    }

    // The variables that `w` asks for; returns the losses at `w`.
    // Not a number when time has run out.
    double pass(const std::vector<double>& w, double width) {
        double losses = 0.0;
        for (std::size_t k = 0; k < all_.size(); ++k) {
            const std::size_t i = all_[k];
            losses += problem_.follow(i, w.data(), center_, width / problem_.variables().rows[i].C, sums_.data());
            if (monitor_.poll(problem_.visit_cost(i) / class_block)) {
                return std::numeric_limits<double>::quiet_NaN();
            }
        }
        return losses;
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

    // The solution of (I + sum_i M_i (x) x_i x_i' / curvature_i) d = w(a) - w. M_i has a row and a column for each
    // class: a free variable changes by its own slack minus what all of them have in common, and moves the weights of
    // its class and those of the row's own one in opposite directions.
    bool find_direction(const std::vector<double>& w, double width, bool exact) {
        if (problem_.classes() * columns_ > most_dense) {
            return find_direction_by_products(w, width);
        }
        if (!make_matrices()) {
            return false;
        }
        for (SymmetricMatrix& block : blocks_) {
            block.clear();
        }
        // Many more rows than weights say the same; a part of them will do until the end is near.
        const std::size_t enough = rows_per_weight * hessian_.size();
        const std::size_t stride = exact ? 1 : 1 + curved_.size() / enough;
        for (std::size_t k = 0; k < curved_.size(); k += stride) {
            add_row(curved_[k], static_cast<double>(stride) / width);
            const std::size_t stored = problem_.rows().stored(curved_[k]);
            if (monitor_.poll(stored * stored * free_.size() * free_.size())) {
                return false;
            }
        }
        const std::size_t classes = problem_.classes(), wide = problem_.width();
        std::vector<double> d(classes * columns_);
        for (std::size_t r = 0; r < classes; ++r) {
            for (std::size_t s = 0; s <= r; ++s) {
                const SymmetricMatrix& block = blocks_[r * (r + 1) / 2 + s];
                for (std::size_t j = 0; j < columns_; ++j) {
                    double* row = hessian_.row(r * columns_ + j) + s * columns_;
                    for (std::size_t l = 0; l < columns_; ++l) {
                        row[l] = j < l ? block.row(l)[j] : block.row(j)[l];
                    }
                }
            }
            for (std::size_t j = 0; j < columns_; ++j) {
                d[r * columns_ + j] = sums_[j * wide + r] - w[j * wide + r];
            }
        }
        if (!solve_shifted(hessian_, 1.0, factor_, d, 1.0, [this](std::size_t work) { return monitor_.poll(work); })) {
            return false;
        }
        for (std::size_t r = 0; r < classes; ++r) {
            for (std::size_t j = 0; j < columns_; ++j) {
                direction_[j * wide + r] = d[r * columns_ + j];
            }
        }
        return true;
    }

    // With more weights than one matrix is good for: conjugate gradients, to a residual that is good enough for a line
    // search. The matrix without what couples classes is the preconditioner: a small one to factorise for each class. A
    // product costs the entries of the curved rows times their free classes.
    bool find_direction_by_products(const std::vector<double>& w, double width) {
        if (!factorise_classes(width)) {
            return false;
        }
        const std::size_t size = w.size();
        std::fill(direction_.begin(), direction_.end(), 0.0);
        residual_.resize(size);
        for (std::size_t k = 0; k < size; ++k) {
            residual_[k] = sums_[k] - w[k];
        }
        precondition(residual_, scaled_);
        step_ = scaled_;
        double rho = dot(residual_, scaled_);
        const double enough = good_enough * good_enough * rho;
        for (int count = 0; count < most_products && rho > enough; ++count) {
            if (!multiply(step_, width, product_)) {
                return false;
            }
            const double length = rho / dot(step_, product_);
            dense_axpy(length, step_.data(), direction_.data(), size);
            dense_axpy(-length, product_.data(), residual_.data(), size);
            precondition(residual_, scaled_);
            const double next = dot(residual_, scaled_), ratio = next / rho;
            rho = next;
            for (std::size_t k = 0; k < size; ++k) {
                step_[k] = scaled_[k] + ratio * step_[k];
            }
        }
        return true;
    }

    // result = (I + sum_i M_i (x) x_i x_i' / curvature_i) d; false when time has run out.
    bool multiply(const std::vector<double>& d, double width, std::vector<double>& result) {
        result = d;
        for (const RowIndex i : curved_) {
            const MulticlassRow& row = problem_.variables().rows[i];
            const double common = find_free(i), count = static_cast<double>(free_.size()), scale = row.C / width;
            const double to_own = 1.0 - count * common;
            free_.push_back(row.label);
            problem_.some_scores(i, free_, d.data(), scores_);
            const double own = scores_.back();
            double sum = -own;
            for (const double score : scores_) {
                sum += score;
            }
            for (double& score : scores_) {
                score = scale * (score - common * sum - to_own * own);
            }
            scores_.back() = scale * to_own * (count * own - sum);
            problem_.add(i, free_, scores_, result.data());
            if (monitor_.poll(2 * problem_.rows().stored(i) * free_.size())) {
                return false;
            }
        }
        return true;
    }

    // The factors of the blocks of that matrix on its diagonal, one for each class; false when time has run out.
    bool factorise_classes(double width) {
        const std::size_t classes = problem_.classes();
        std::vector<std::vector<RowIndex>> rows(classes);
        std::vector<std::vector<double>> scales(classes);
        for (const RowIndex i : curved_) {
            const MulticlassRow& row = problem_.variables().rows[i];
            const double common = find_free(i), count = static_cast<double>(free_.size()), scale = row.C / width;
            for (const std::uint32_t m : free_) {
                rows[m].push_back(i);
                scales[m].push_back(scale * (1.0 - common));
            }
            rows[row.label].push_back(i);
            scales[row.label].push_back(scale * count * (1.0 - count * common));
        }
        if (blocks_.empty()) {
            blocks_.assign(1, SymmetricMatrix(columns_));
            factors_.assign(classes, SymmetricMatrix(columns_));
        }
        auto stop = [this](std::size_t work) { return monitor_.poll(work); };
        for (std::size_t m = 0; m < classes; ++m) {
            blocks_[0].clear();
            add_outers(rows[m], scales[m], blocks_[0]);
            if (monitor_.look() || !factorise_shifted(blocks_[0], 1.0, factors_[m], 1.0, stop)) {
                return false;
            }
        }
        return true;
    }

    void precondition(const std::vector<double>& given, std::vector<double>& result) {
        const std::size_t wide = problem_.width();
        result.assign(given.size(), 0.0);
        std::vector<double> own(columns_);
        for (std::size_t m = 0; m < factors_.size(); ++m) {
            for (std::size_t j = 0; j < columns_; ++j) {
                own[j] = given[j * wide + m];
            }
            solve_factorised(factors_[m], own);
            for (std::size_t j = 0; j < columns_; ++j) {
                result[j * wide + m] = own[j];
            }
        }
    }

    // When the first direction is looked for: they can take gigabytes, and so more time than there is. False if so.
    bool make_matrices() {
        if (!blocks_.empty()) {
            return true;
        }
        const std::size_t pairs = problem_.classes() * (problem_.classes() + 1) / 2;
        const std::size_t weights = problem_.classes() * columns_;
        const auto entries = static_cast<double>(pairs * columns_ * columns_ + 2 * weights * weights);
        if (monitor_.look(entries * seconds_per_entry)) {
            return false;
        }
        hessian_ = SymmetricMatrix(weights);
        factor_ = SymmetricMatrix(weights);
        blocks_.assign(pairs, SymmetricMatrix(columns_));
        return true;
    }

    // The free classes of a row; returns the share of a change that they have in common.
    double find_free(std::size_t i) {
        const MulticlassRow& row = problem_.variables().rows[i];
        const bool bounded = problem_.formulation() == Formulation::weston_watkins;
        free_.clear();
        for (const ClassValue& v : problem_.variables().list(i)) {
            if (!bounded || v.value < row.C) {
                free_.push_back(v.which);
            }
        }
        const auto count = static_cast<double>(free_.size());
        const bool tight = !bounded && row.sum >= row.C * (1.0 - 1e-12);  // then their sum cannot change
        return 1.0 / (tight ? count : count + 1.0);
    }

    void add_row(std::size_t i, double scale) {
        const MulticlassRow& row = problem_.variables().rows[i];
        const double common = find_free(i);
        const auto count = static_cast<double>(free_.size());
        const double to_own = 1.0 - count * common;
        scale *= row.C;
        for (std::size_t n = 0; n < free_.size(); ++n) {
            for (std::size_t m = 0; m <= n; ++m) {
                add_outer(i, free_[n], free_[m], scale * ((n == m ? 1.0 : 0.0) - common));
            }
            add_outer(i, row.label, free_[n], -scale * to_own);
        }
        add_outer(i, row.label, row.label, scale * count * to_own);
    }

    void add_outer(std::size_t i, std::size_t r, std::size_t s, double scale) {
        if (scale == 0.0) {
            return;
        }
        if (r < s) {
            std::swap(r, s);
        }
        const auto row = static_cast<RowIndex>(i);
        add_outers({&row, 1}, {&scale, 1}, blocks_[r * (r + 1) / 2 + s]);
    }

    // The sum of scales[k] x_i x_i' over the rows i = rows[k], the constant among the features.
    void add_outers(std::span<const RowIndex> rows, std::span<const double> scales, SymmetricMatrix& block) {
        problem_.rows().add_outers(rows, scales.data(), block, 0, columns_);
        double* last = block.row(columns_ - 1);
        for (std::size_t k = 0; k < rows.size(); ++k) {
            problem_.rows().axpy(rows[k], scales[k] * problem_.bias(), last);
            last[columns_ - 1] += scales[k] * problem_.bias() * problem_.bias();
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
    std::size_t columns_;  // features and the constant
    double solved_far_;    // share of the gap at which a center is solved, until the end is near
    std::vector<RowIndex> all_, curved_;
    MulticlassVariables center_;
    std::vector<double> sums_;  // w(a)
    std::vector<double> direction_, trial_;
    std::vector<double> residual_, scaled_, product_, step_, scores_;  // of conjugate gradients
    std::vector<SymmetricMatrix> factors_;                             // one for each class
    std::vector<std::uint32_t> free_;
    std::vector<SymmetricMatrix> blocks_;     // one for each pair of classes, symmetric as all of the x x' are
    SymmetricMatrix hessian_{0}, factor_{0};  // weights class by class
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
        const double warm_width = weights > most_dense ? less : medium;  // where steps are dear, the fewer centers
        const double width = sampled ? narrow : warm ? warm_width : wide;
        return MulticlassNewton<Rows>(state, problem, limits.tol, limits.max_iter, monitor)
            .run(w, width, sampled, false);
    });
}

}  // namespace maxmargin
