// Newton's method in the primal. With z_i = 1 - y_i w.x_i and a_i = clip(z_i / D_i, lower, U_i), the slope of the loss,
// the gradient is w - sum a_i y_i x_i and the Hessian I + sum over unclipped ("curved") rows of x_i x_i' / D_i:
// piecewise constant, so that full steps end in the exact minimum once the curved rows are known (Keerthi & DeCoste
// 2005).
//
// The a_i are dual feasible, so each step comes with a certificate. The hinge has D = 0 and no Hessian: it is smoothed
// with a width that is driven down. At the optimum of width g only rows with 0 < z_i < g add to the hinge's own gap, at
// most C_i g / 4 each; and once these rows are the right ones, their variables are solved for exactly
// (free_variables.hpp).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "certificate.hpp"
#include "dual_coordinate_descent.hpp"
#include "free_bias.hpp"
#include "free_variables.hpp"
#include "monitor.hpp"
#include "near_rows.hpp"
#include "newton_system.hpp"
#include "problem.hpp"
#include "solvers.hpp"

namespace maxmargin {

template <class Rows>
class Newton {
  public:
    Newton(BinaryProblem<Rows> problem, Monitor& monitor, double tol, std::int64_t max_iter)
        : problem_(problem),
          monitor_(monitor),
          tol_(tol),
          max_iter_(max_iter),
          smooth_(problem.loss),
          smoothing_(problem.loss.diagonal_times_C == 0.0),
          near_(problem_),
          gradient_(problem.features() + 1),
          direction_(problem.features() + 1) {
        if (gradient_.size() <= most_dense) {
            hessian_.emplace(problem_);
        }
        if (smoothing_) {
            smooth_.diagonal_times_C = first_width;
        }
    }

    // Starts from the weights in `w`; leaves alphas in the problem's variables and the weights that belong to them in
    // `w`.
    Outcome run(std::vector<double>& w) {
        near_.collect(w, smooth_, infinity);
        find_bias(w);
        for (std::int64_t iteration = 1;; ++iteration) {
            const State state = differentiate(w);
            const double gap = state.certificate.gap();
            monitor_.report({iteration, monitor_.seconds(), state.certificate.primal, state.certificate.dual, gap,
                             static_cast<std::int64_t>(curved_.size()), w});
            const bool stuck = stalls(iteration, state.certificate);
            const bool last = monitor_.look() || iteration >= max_iter_ || stuck;
            const bool stage_done =
                smoothing_ && state.smooth_gap < 0.5 * (state.certificate.primal - state.certificate.dual);
            remember(w, gap);
            if (last && !(gap <= best_gap_) && !best_weights_.empty()) {
                go_back(w);
            }
            if (last || may_finish(gap, stage_done)) {
                std::vector<double> pair;
                const Certificate exact = finish(w, pair, gap, last);
                if (exact.gap() <= tol_ || last) {
                    w = std::move(pair);
                    monitor_.report({iteration, monitor_.seconds(), exact.primal, exact.dual, exact.gap(),
                                     static_cast<std::int64_t>(curved_.size()), w});
                    const Exit exit = monitor_.ended() ? monitor_.exit() : stuck ? Exit::budget : Exit::max_iter;
                    return {exact, iteration, exact.gap() <= tol_ ? Exit::converged : exit, check_seconds_};
                }
                near_.collect(w, smooth_, near_.radius());  // brings back the alphas of w
                differentiate(w);
            }
            if (stage_done) {
                narrow(w);
            } else {
                find_direction(curved_);
                move(w);
            }
        }
    }

  private:
    static constexpr std::size_t most_dense = 1025;  // features and bias
    static constexpr double first_width = 1.0;
    static constexpr double narrowing = 0.25;
    static constexpr double reach = 4.0;  // of near rows, in lengths of the step that they are collected for
    static constexpr double most_passes_per_stage = 2.0;  // for an exact end that may come too early
    static constexpr double always_cheap = 2e7;           // stored values; some ten milliseconds
    static constexpr double close = 4.0;                  // to the tolerance, for coordinate descent to be tried
    static constexpr double polish_passes = 12.0;         // and how much of it
    static constexpr int most_bias_trials = 10;
    static constexpr int most_line_trials = 60;
    static constexpr double rounding = 1e-10;  // of sum_i y_i a_i, in sums of |a_i|
    static constexpr int most_refinements = 4;
    static constexpr double most_dual_passes = 20.0;
    static constexpr std::size_t first_cg_rounds = 30, more_cg_rounds = 10;
    static constexpr std::int64_t most_idle_steps = 60;

    struct State {
        Certificate certificate;  // of the true problem, at w and the alphas of w
        double smooth_gap;        // primal - dual of the smoothed problem: what Newton steps can still remove
    };

    double free_variables_cost() const { return FreeVariables<Rows>::cost(curved_.size(), problem_); }

    // Whether it is time to look for an end. The weights of the alphas of w are worse than w itself as long as w is not
    // optimal for its width; so ends are tried when a stage is done.
    bool may_finish(double gap, bool stage_done) const {
        const double stored = static_cast<double>(problem_.rows.stored());
        const bool cheap = stage_done && free_variables_cost() <= most_passes_per_stage * stored;
        return gap <= tol_ || cheap || (stage_done && may_polish(gap));
    }

    bool may_polish(double gap) const { return smoothing_ && gap <= std::min(close * tol_, next_polish_); }

    // The weights that belong to the alphas of w. For the hinge these are made better first by solving for the
    // variables that lie between their bounds, then by a few epochs of coordinate descent, most of them over few rows.
    // When the fit has to end here (`last`) this may take some passes more than its limits: the answer is so much
    // better.
    Certificate finish(const std::vector<double>& w, std::vector<double>& pair, double gap, bool last) {
        const double before = monitor_.seconds();
        pair = w;
        balance(problem_);
        weights_of(problem_, pair);
        Certificate exact = certify(problem_, pair);
        check_seconds_ += monitor_.seconds() - before;
        const double affordable = std::max(8.0 * static_cast<double>(problem_.rows.stored()), always_cheap);
        if (hessian_ && exact.gap() > std::max(tol_, 2.0 * gap)) {
            exact = refine(pair, exact);
        }
        if (smoothing_ && exact.gap() > tol_ && free_variables_cost() <= affordable) {
            exact = FreeVariables<Rows>(problem_).improve(pair, exact, tol_);
        }
        if (!hessian_ && exact.gap() > tol_) {
            exact = solve_dual(w, pair, exact);
        }
        const bool asked_to_stop = monitor_.ended() && monitor_.exit() == Exit::stopped;
        if (smoothing_ && !(exact.gap() <= tol_) && (may_polish(gap) || (last && !asked_to_stop))) {
            next_polish_ = gap / close;
            const Options options{OrderName::permuted, true, tol_, 10'000, polish_passes, 0, infinity};
            std::vector<RowIndex> rows(problem_.size());
            std::iota(rows.begin(), rows.end(), RowIndex{0});
            std::erase_if(rows, [this](RowIndex i) { return problem_.variables[i].C == 0.0; });
            Random random(0);
            Monitor unlimited(infinity, nullptr, nullptr);
            Monitor& monitor = last ? unlimited : monitor_;
            monitor.mute(true);
            Permuted order(std::move(rows), problem_.size(), true, true);
            const std::vector<double> alphas = problem_.alphas(), weights = pair;
            const Certificate polished =
                DualCoordinateDescent<Rows, Permuted>(problem_, std::move(order), random, monitor, options)
                    .run(pair)
                    .certificate;
            monitor.mute(false);
            if (polished.gap() < exact.gap()) {
                exact = polished;
            } else {
                problem_.assign(alphas);
                pair = weights;
            }
        }
        return exact;
    }

    // Alphas read off slacks, slack over D, carry the rounding errors of the slacks many times enlarged where C is
    // large. With what is left of their own equations, r = z - D a at the weights of a, the equations are solved for
    // the change: D da + x.d = r with d the sum of y x da, so that d solves the system of a Newton step.
    Certificate refine(std::vector<double>& pair, Certificate best) {
        hessian_->set_curved(curved_);
        for (int round = 0; round < most_refinements && best.gap() > tol_; ++round) {
            const std::vector<double> alphas = problem_.alphas(), weights = pair;
            std::vector<double> d(pair.size()), residual(curved_.size());
            for (std::size_t k = 0; k < curved_.size(); ++k) {
                const Variable& v = problem_.variables[curved_[k]];
                residual[k] = problem_.slack(curved_[k], pair.data()) - smooth_.diagonal(v.C) * v.alpha;
                problem_.add_row(curved_[k], residual[k] * smooth_.inverse_diagonal(v.C) * v.y, d.data());
            }
            if (!hessian_->solve(smooth_.diagonal_times_C, d)) {
                break;
            }
            for (std::size_t k = 0; k < curved_.size(); ++k) {
                Variable& v = problem_.variables[curved_[k]];
                const double change = residual[k] - problem_.margin(curved_[k], d.data());
                const double alpha = v.alpha + change * smooth_.inverse_diagonal(v.C);
                v.alpha = clip(alpha, smooth_.lower, smooth_.upper(v.C));
            }
            balance(problem_);
            weights_of(problem_, pair);
            const Certificate refined = certify(problem_, pair);
            if (!(refined.gap() < best.gap())) {
                problem_.assign(alphas);
                pair = weights;
                break;
            }
            best = refined;
        }
        return best;
    }

    // With many features the alphas of w are too far from their own weights to be of use; those that solve the
    // equations of the curved rows, cut off at their bounds, are close to the optimum of the dual.
    Certificate solve_dual(const std::vector<double>& w, std::vector<double>& pair, Certificate best) {
        const std::vector<double> alphas = problem_.alphas(), weights = pair;
        problem_.sum_rows(pair);
        if (problem_.free_bias) {
            pair.back() = w.back();
        }
        const double most_work = most_dual_passes * static_cast<double>(problem_.rows.stored());
        solve_for_alphas(problem_, smooth_, curved_, most_work, monitor_, pair);
        for (const RowIndex i : curved_) {
            Variable& v = problem_.variables[i];
            v.alpha = clip(v.alpha, problem_.loss.lower, problem_.loss.upper(v.C));
        }
        balance(problem_);
        weights_of(problem_, pair);
        const Certificate solved = certify(problem_, pair);
        if (solved.gap() < best.gap()) {
            return solved;
        }
        problem_.assign(alphas);
        pair = weights;
        return best;
    }

    // Whether neither the gap nor the objective has become much better for many steps: rounding errors are in the way.
    bool stalls(std::int64_t iteration, const Certificate& certificate) {
        if (certificate.gap() < 0.7 * pace_gap_ || certificate.primal < 0.99 * pace_primal_) {
            pace_gap_ = std::min(pace_gap_, certificate.gap());
            pace_primal_ = std::min(pace_primal_, certificate.primal);
            pace_iteration_ = iteration;
        }
        return iteration - pace_iteration_ > most_idle_steps;
    }

    void remember(const std::vector<double>& w, double gap) {
        if (gap < best_gap_) {
            best_gap_ = gap;
            best_weights_ = w;
            best_width_ = smooth_.diagonal_times_C;
        }
    }

    // To the best certified iterate, in the middle of a stage that has to end.
    void go_back(std::vector<double>& w) {
        w = best_weights_;
        smooth_.diagonal_times_C = best_width_;
        near_.collect(w, smooth_, infinity);
        find_bias(w);
        differentiate(w);
    }

    // Alphas, gradient, curved rows and certificate at w, from the slacks.
    State differentiate(const std::vector<double>& w) {
        curved_.clear();
        double losses = 0.0, smooth_losses = 0.0, alphas = 0.0, terms = 0.0, sizes = 0.0;
        std::fill(gradient_.begin(), gradient_.end(), 0.0);
        if (near_.far_C() > 0.0) {
            const double U = smooth_.upper_per_C, far = dot(w, near_.far_sum());
            alphas = sizes = U * near_.far_C();
            terms = 0.5 * smooth_.diagonal_times_C * U * U * near_.far_C();
            losses = alphas - U * far;
            smooth_losses = losses - terms;
            for (std::size_t j = 0; j < gradient_.size(); ++j) {
                gradient_[j] = U * near_.far_sum()[j];
            }
        }
        for (std::size_t k = 0; k < near_.rows.size(); ++k) {
            const std::size_t i = near_.rows[k];
            const double z = near_.slack[k], C = near_.C[k], free = z * smooth_.inverse_diagonal(C);
            const double alpha = clip(free, smooth_.lower, smooth_.upper(C));
            const double term = 0.5 * smooth_.diagonal(C) * alpha * alpha;
            problem_.variables[i].alpha = alpha;
            smooth_losses += alpha * z - term;
            losses += problem_.loss.primal(z, C);
            alphas += alpha;
            sizes += std::abs(alpha);
            terms += term;
            if (alpha == free && alpha != smooth_.lower) {
                curved_.push_back(static_cast<RowIndex>(i));
            }
            if (alpha != 0.0) {
                problem_.add_row(i, alpha * problem_.variables[i].y, gradient_.data());
            }
        }
        const double norm = problem_.squared_norm(w), alpha_norm = problem_.squared_norm(gradient_);
        for (std::size_t j = 0; j < gradient_.size(); ++j) {
            gradient_[j] = w[j] - gradient_[j];
        }
        if (problem_.free_bias) {
            gradient_.back() -= w.back();
            balanced_ = std::abs(gradient_.back()) <= rounding * std::abs(problem_.bias) * sizes;
            gradient_.back() = balanced_ ? 0.0 : gradient_.back();
        }
        State state;
        state.certificate.primal = 0.5 * norm + losses;
        state.certificate.dual = alphas - (smoothing_ ? 0.0 : terms) - 0.5 * alpha_norm;
        state.smooth_gap = (0.5 * norm + smooth_losses) - (alphas - terms - 0.5 * alpha_norm);
        if (problem_.free_bias && !balanced_) {  // these alphas are not feasible, but earlier ones were
            state.smooth_gap = infinity;
            state.certificate.dual = best_dual_;
        }
        best_dual_ = std::max(best_dual_, state.certificate.dual);
        return state;
    }

    // The next width, and a first step for it. While the same rows are curved, w depends linearly on the width and
    // their alphas stay; so the step is Newton's with the rows curved so far, whose slacks then shrink with the width.
    // With the few that are curved at the new width and the old slacks, the step would be far too long.
    void narrow(std::vector<double>& w) {
        const std::vector<RowIndex> curved = curved_;
        for (const RowIndex i : curved) {
            const Variable& v = problem_.variables[i];
            problem_.add_row(i, (1.0 - 1.0 / narrowing) * v.alpha * v.y, gradient_.data());
        }
        smooth_.diagonal_times_C *= narrowing;
        find_direction(curved);
        near_.collect(w, smooth_, reach * length());
        differentiate(w);
        if (!(dot(gradient_, direction_) < 0.0)) {
            find_direction(curved_);
        }
        move(w);
    }

    void move(std::vector<double>& w) {
        step(w);
        find_bias(w);
        monitor_.poll(problem_.rows.stored());
    }

    // The best bias for the weights, if it is free: its alphas fulfil sum_i y_i a_i = 0 and so have a certificate. But
    // where no row is curved there, as when the weights separate the classes, it is not taken: a step would know
    // nothing of where rows become curved again, and the next best bias undo most of it.
    void find_bias(std::vector<double>& w) {
        if (!problem_.free_bias) {
            return;
        }
        for (int trial = 0;; ++trial) {
            bias_terms_.clear();
            for (std::size_t k = 0; k < near_.rows.size(); ++k) {
                const double y = problem_.variables[near_.rows[k]].y;
                bias_terms_.push_back({y * near_.slack[k], near_.C[k], y});
            }
            const double far = -smooth_.upper_per_C * near_.far_sum().back() / problem_.bias;
            const double t = best_curved_bias(smooth_, bias_terms_, 0.0, near_.far_C() > 0.0 ? far : 0.0);
            const bool held = std::any_of(bias_terms_.begin(), bias_terms_.end(), [&](const BiasTerm& term) {
                const double free = term.y * (term.position - t) * smooth_.inverse_diagonal(term.C);
                return free > smooth_.lower && free < smooth_.upper(term.C);
            });
            if (!held) {
                return;
            }
            w.back() += t / problem_.bias;
            if (near_.covers(near_.distance(w))) {
                for (std::size_t k = 0; k < near_.rows.size(); ++k) {
                    near_.slack[k] -= t * bias_terms_[k].y;
                }
                return;
            }
            near_.collect(w, smooth_, trial < most_bias_trials ? reach * std::abs(t / problem_.bias) : infinity);
        }
    }

    void step(std::vector<double>& w) {
        if (!near_.covers(near_.distance(w) + length())) {
            near_.collect(w, smooth_, reach * length());
        }
        near_.find_slopes(direction_);
        const double t = line_search(w, dot(gradient_, direction_), 0.01);
        for (std::size_t j = 0; j < w.size(); ++j) {
            w[j] += t * direction_[j];
        }
        if (near_.covers(near_.distance(w))) {
            near_.move(t);
        } else {
            near_.collect(w, smooth_, reach * length());
        }
    }

    static double dot(const std::vector<double>& a, const std::vector<double>& b) {
        return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
    }

    double length() const { return std::sqrt(dot(direction_, direction_)); }

    void find_direction(const std::vector<RowIndex>& curved) {
        auto downhill = [this] {
            std::transform(gradient_.begin(), gradient_.end(), direction_.begin(), [](double g) { return -g; });
        };
        downhill();
        if (!hessian_) {
            solve_by_conjugate_gradients(problem_, smooth_, curved, cg_rounds_, monitor_, direction_);
            cg_rounds_ += more_cg_rounds;  // the later, the more accurate
            return;
        }
        hessian_->set_curved(curved);
        if (!hessian_->solve(smooth_.diagonal_times_C, direction_)) {
            hessian_->reset();
            hessian_->set_curved(curved);
            downhill();
            if (!hessian_->solve(smooth_.diagonal_times_C, direction_)) {
                downhill();
            }
        }
    }

    // The root of the derivative along the step, which is continuous, rising and piecewise linear. Found to `accuracy`,
    // a share of the derivative at the start, and from below: beyond the root a slope that is small beside a very steep
    // start can still lead far up. Steps that are mostly gradient can be a million times too long.
    double line_search(const std::vector<double>& w, double initial, double accuracy) const {
        const double far = near_.far_C() > 0.0 ? smooth_.upper_per_C * dot(near_.far_sum(), direction_) : 0.0;
        const double wd = problem_.regularised_dot(w, direction_) - far;
        const double dd = problem_.regularised_dot(direction_, direction_);
        const double scale = 1.0 / smooth_.diagonal_times_C, lower = smooth_.lower, upper_per_C = smooth_.upper_per_C;
        const double *slack = near_.slack.data(), *slope = near_.slope.data(), *weight = near_.C.data();
        double t = 1.0, low = 0.0, high = infinity;
        for (int trial = 0; trial < most_line_trials; ++trial) {
            double first = wd + t * dd, second = dd;
            for (std::size_t k = 0; k < near_.rows.size(); ++k) {
                const double u = slope[k], inverse = weight[k] * scale;
                const double a = (slack[k] - t * u) * inverse, clipped = clip(a, lower, upper_per_C * weight[k]);
                first -= clipped * u;
                second += a == clipped ? u * u * inverse : 0.0;
            }
            if (first <= 0.0 && -first <= accuracy * std::abs(initial)) {
                return t;
            }
            (first < 0.0 ? low : high) = t;
            t -= first / second;
            if (!(t > low && t < high)) {
                t = low == 0.0 ? 0.1 * high : high < infinity ? 0.5 * (low + high) : 2.0 * low;
            }
        }
        return low > 0.0 ? low : t;
    }

    BinaryProblem<Rows> problem_;
    Monitor& monitor_;
    double tol_;
    std::int64_t max_iter_;
    Loss smooth_;
    bool smoothing_;
    NearRows<Rows> near_;
    std::vector<RowIndex> curved_;
    std::optional<DenseHessian<Rows>> hessian_;
    std::vector<double> gradient_;
    std::vector<double> direction_;
    std::vector<BiasTerm> bias_terms_;
    double check_seconds_ = 0.0;
    std::size_t cg_rounds_ = first_cg_rounds;
    bool balanced_ = true;    // with a free bias: whether the alphas of w are feasible
    double best_dual_ = 0.0;  // that of w = 0 at least
    double pace_gap_ = infinity, pace_primal_ = infinity;
    std::int64_t pace_iteration_ = 0;
    double best_gap_ = infinity;
    double next_polish_ = infinity;
    double best_width_ = first_width;
    std::vector<double> best_weights_;
};

}  // namespace maxmargin
