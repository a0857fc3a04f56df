// Newton's method in the primal. With z_i = 1 - y_i w.x_i and a_i = clip(z_i / D_i, lower, U_i), the slope
// of the loss, the gradient is w - sum a_i y_i x_i and the Hessian I + sum over unclipped rows of x_i x_i' / D_i: piecewise
// constant, so that full steps end in the exact minimum once the unclipped rows are known (Keerthi & DeCoste 2005).
//
// The a_i are dual feasible, so each step comes with a certificate. The hinge has D = 0 and no Hessian: it is smoothed with a
// width that is driven down; at the optimum of width g only rows with 0 < z_i < g add to the hinge's own gap, at most C_i g / 4
// each, which tells how small the width must become.
//
// With few features the Hessian is kept as a matrix and updated only for rows that change sides; with many the step is found by
// conjugate gradients, which touch only the curved rows.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

#include "certificate.hpp"
#include "cholesky.hpp"
#include "solvers.hpp"
#include "monitor.hpp"
#include "problem.hpp"

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
          size_(problem.features() + 1),
          slack_(problem.size()),
          slope_(problem.size()),
          curved_(problem.size(), false),
          dense_(size_ <= most_dense),
          scatter_(dense_ ? size_ : 0),
          factor_(dense_ ? size_ : 0),
          gradient_(size_),
          direction_(size_) {}

    // Starts from the weights in `w`; leaves alphas in the problem's variables and the weights that belong to them in `w`.
    Outcome run(std::vector<double>& w) {
        if (smoothing_) {
            smooth_.diagonal_times_C = first_width;
        }
        compute_slacks(w);
        for (std::int64_t iteration = 1;; ++iteration) {
            const State state = differentiate(w);
            const double gap = state.certificate.gap();
            monitor_.report({iteration, monitor_.seconds(), state.certificate.primal, state.certificate.dual, gap,
                             static_cast<std::int64_t>(state.curved), w});
            const bool last = monitor_.look() || iteration >= max_iter_;
            const bool stage_done =
                smoothing_ && state.smooth_gap < 0.5 * (state.certificate.primal - state.certificate.dual);
            if (gap < best_gap_) {
                best_gap_ = gap;
                best_weights_ = w;
                best_width_ = smooth_.diagonal_times_C;
            }
            if (last && gap > best_gap_) {
                go_back(w);
            }
            if (gap <= tol_ || last || (stage_done && finish_is_cheap(state.curved))) {
                std::vector<double> pair;
                const Certificate exact = finish(pair);
                if (exact.gap() <= tol_ || last) {
                    w = std::move(pair);
                    const Exit exit = monitor_.ended() ? monitor_.exit() : Exit::max_iter;
                    return {exact, iteration, exact.gap() <= tol_ ? Exit::converged : exit};
                }
                differentiate(w);  // brings back the alphas of w
            }
            if (stage_done) {
                smooth_.diagonal_times_C *= narrowing;
                compute_slacks(w);  // between stages, so that rounding errors of the updates do not add up
                differentiate(w);
            }
            step(w);
        }
    }

  private:
    static constexpr double first_width = 1.0;
    static constexpr std::size_t most_dense = 512;
    static constexpr double narrowing = 0.2;
    static constexpr int most_refinements = 4;

    struct State {
        Certificate certificate;  // of the true problem, at w and the alphas of w
        double smooth_gap;        // primal - dual of the smoothed problem: what Newton steps can still remove
        std::size_t curved;       // rows where the loss is curved
    };

    bool is_curved(double z, double C) const {
        const double a = z * smooth_.inverse_diagonal(C);
        return a > smooth_.lower && a < smooth_.upper(C);
    }

    // The alphas of w and the weights that belong to them, as `pair`. For the hinge these alphas, slack over width, carry the
    // rounding error of the slack many times enlarged; so the ones between their bounds are then solved for exactly: they
    // make the slack of their rows zero. Repeating the solution on what is left is iterative refinement.
    Certificate finish(std::vector<double>& pair) {
        problem_.rebuild_weights(pair);
        Certificate best = certify(problem_, pair);
        if (!smoothing_) {
            return best;
        }
        std::vector<RowIndex> free;
        for (std::size_t i = 0; i < problem_.size(); ++i) {
            const Variable& v = problem_.variables[i];
            if (v.alpha > smooth_.lower && v.alpha < smooth_.upper(v.C)) {
                free.push_back(static_cast<RowIndex>(i));
            }
        }
        for (int round = 0; round < most_refinements && best.gap() > tol_ && finish_is_cheap(free.size()); ++round) {
            const std::vector<double> before = alphas_of(free), old_pair = pair;
            if (!clear_slacks(free, pair)) {
                break;
            }
            const Certificate exact = certify(problem_, pair);
            if (!(exact.gap() < best.gap())) {
                for (std::size_t k = 0; k < free.size(); ++k) {
                    problem_.variables[free[k]].alpha = before[k];
                }
                pair = old_pair;
                break;
            }
            best = exact;
        }
        return best;
    }

    // Not more than a few passes over the data, or some milliseconds.
    bool finish_is_cheap(std::size_t free) const {
        const double stored = static_cast<double>(problem_.rows.stored() + problem_.size());
        const double count = static_cast<double>(free), per_row = stored / static_cast<double>(problem_.size());
        return count * count * (per_row + count / 8.0) <= std::max(8.0 * stored, 1e7);
    }

    std::vector<double> alphas_of(const std::vector<RowIndex>& rows) const {
        std::vector<double> alphas(rows.size());
        std::transform(rows.begin(), rows.end(), alphas.begin(),
                       [this](RowIndex i) { return problem_.variables[i].alpha; });
        return alphas;
    }

    // One step of the free alphas to where their slacks are zero, clipped to their bounds; `w` follows.
    bool clear_slacks(const std::vector<RowIndex>& free, std::vector<double>& w) {
        SymmetricMatrix gram(free.size()), factor(free.size());
        std::vector<double> x(size_, 0.0), change(free.size());
        double largest = 0.0;
        for (std::size_t k = 0; k < free.size(); ++k) {
            const Variable& v = problem_.variables[free[k]];
            problem_.add_row(free[k], v.y, x.data());
            for (std::size_t j = 0; j <= k; ++j) {
                gram.row(k)[j] = problem_.margin(free[j], x.data());
            }
            largest = std::max(largest, gram.row(k)[k]);
            std::fill(x.begin(), x.end(), 0.0);
            change[k] = problem_.slack(free[k], w.data());
        }
        // A small ridge, because rows may be equal; solve_shifted solves (I + scale A) x = b.
        const double ridge = 1e-12 * largest;
        if (!(ridge > 0.0) || !solve_shifted(gram, 1.0 / ridge, factor, change)) {
            return false;
        }
        for (std::size_t k = 0; k < free.size(); ++k) {
            Variable& v = problem_.variables[free[k]];
            const double alpha = clip(v.alpha + change[k] / ridge, problem_.loss.lower, problem_.loss.upper(v.C));
            problem_.add_row(free[k], (alpha - v.alpha) * v.y, w.data());
            v.alpha = alpha;
        }
        return true;
    }

    // To the best certified iterate, in the middle of a stage that has to end.
    void go_back(std::vector<double>& w) {
        w = best_weights_;
        smooth_.diagonal_times_C = best_width_;
        compute_slacks(w);
        differentiate(w);
    }

    void compute_slacks(const std::vector<double>& w) {
        for (std::size_t i = 0; i < problem_.size(); ++i) {
            slack_[i] = problem_.slack(i, w.data());
        }
    }

    // Slopes, gradient and certificate at w, from the slacks.
    State differentiate(const std::vector<double>& w) {
        std::fill(gradient_.begin(), gradient_.end(), 0.0);
        double losses = 0.0, smooth_losses = 0.0, dual = 0.0, smooth_terms = 0.0;
        std::size_t curved = 0;
        for (std::size_t i = 0; i < problem_.size(); ++i) {
            Variable& v = problem_.variables[i];
            if (v.C == 0.0) {
                continue;
            }
            const double D = smooth_.diagonal(v.C), z = slack_[i];
            v.alpha = smooth_.slope(z, v.C);
            const double term = 0.5 * D * v.alpha * v.alpha;
            smooth_losses += v.alpha * z - term;
            losses += problem_.loss.primal(z, v.C);
            dual += v.alpha;
            smooth_terms += term;
            curved += is_curved(z, v.C) ? 1 : 0;
            if (v.alpha != 0.0) {
                problem_.add_row(i, v.alpha * v.y, gradient_.data());
            }
        }
        double norm = 0.0, alpha_norm = 0.0;
        for (std::size_t j = 0; j < size_; ++j) {
            norm += w[j] * w[j];
            alpha_norm += gradient_[j] * gradient_[j];
            gradient_[j] = w[j] - gradient_[j];
        }
        State state;
        const double true_terms = smoothing_ ? 0.0 : smooth_terms;
        state.certificate.primal = 0.5 * norm + losses;
        state.certificate.dual = dual - true_terms - 0.5 * alpha_norm;
        state.smooth_gap = (0.5 * norm + smooth_losses) - (dual - smooth_terms - 0.5 * alpha_norm);
        state.curved = curved;
        return state;
    }

    void step(std::vector<double>& w) {
        std::transform(gradient_.begin(), gradient_.end(), direction_.begin(), [](double g) { return -g; });
        if (dense_) {
            solve_dense();
        } else {
            solve_by_conjugate_gradients();
        }
        // slope_[i] = y_i d.x_i: how fast the slack falls along the step.
        for (std::size_t i = 0; i < problem_.size(); ++i) {
            slope_[i] = problem_.margin(i, direction_.data());
        }
        const double t = line_search(w);
        for (std::size_t j = 0; j < size_; ++j) {
            w[j] += t * direction_[j];
        }
        for (std::size_t i = 0; i < problem_.size(); ++i) {
            slack_[i] -= t * slope_[i];
        }
        monitor_.poll(problem_.rows.stored());
    }

    void solve_dense() {
        const double scale = 1.0 / smooth_.diagonal_times_C;
        update_scatter();
        if (!solve_shifted(scatter_, scale, factor_, direction_)) {
            rebuild_scatter();  // many small updates have added up to a matrix that is not positive definite
            std::transform(gradient_.begin(), gradient_.end(), direction_.begin(), [](double g) { return -g; });
            if (!solve_shifted(scatter_, scale, factor_, direction_)) {
                std::transform(gradient_.begin(), gradient_.end(), direction_.begin(), [](double g) { return -g; });
            }
        }
    }

    // H d = -g with the diagonal of H as preconditioner, to a tenth of the gradient: more pays only when the curved rows are
    // already the right ones, and then the next step is cheap.
    void solve_by_conjugate_gradients() {
        std::vector<RowIndex> curved;
        std::vector<double> diagonal(size_, 1.0), residual = direction_, p(size_), Hp(size_), scaled(size_);
        for (std::size_t i = 0; i < problem_.size(); ++i) {
            const double C = problem_.variables[i].C;
            if (C > 0.0 && is_curved(slack_[i], C)) {
                curved.push_back(static_cast<RowIndex>(i));
                problem_.rows.add_squares(i, smooth_.inverse_diagonal(C), diagonal.data());
                diagonal[size_ - 1] += smooth_.inverse_diagonal(C) * problem_.bias * problem_.bias;
            }
        }
        std::fill(direction_.begin(), direction_.end(), 0.0);
        auto precondition = [&] {
            std::transform(residual.begin(), residual.end(), diagonal.begin(), scaled.begin(), std::divides<>());
            return std::inner_product(residual.begin(), residual.end(), scaled.begin(), 0.0);
        };
        double rho = precondition();
        const double enough = 0.01 * rho;
        p = scaled;
        for (std::size_t iteration = 0; iteration < size_ && rho > enough && !monitor_.look(); ++iteration) {
            Hp = p;
            for (const RowIndex i : curved) {
                const double xp = problem_.rows.dot(i, p.data()) + problem_.bias * p[size_ - 1];
                problem_.add_row(i, smooth_.inverse_diagonal(problem_.variables[i].C) * xp, Hp.data());
            }
            const double step = rho / std::inner_product(p.begin(), p.end(), Hp.begin(), 0.0);
            for (std::size_t j = 0; j < size_; ++j) {
                direction_[j] += step * p[j];
                residual[j] -= step * Hp[j];
            }
            const double previous = rho;
            rho = precondition();
            for (std::size_t j = 0; j < size_; ++j) {
                p[j] = scaled[j] + rho / previous * p[j];
            }
        }
    }

    // The root of the derivative along the step, which is continuous, rising and piecewise linear.
    double line_search(const std::vector<double>& w) const {
        const double wd = std::inner_product(w.begin(), w.end(), direction_.begin(), 0.0);
        const double dd = std::inner_product(direction_.begin(), direction_.end(), direction_.begin(), 0.0);
        const double initial = std::inner_product(gradient_.begin(), gradient_.end(), direction_.begin(), 0.0);
        const double scale = 1.0 / smooth_.diagonal_times_C, lower = smooth_.lower;
        // Rows of weight zero have C = 0 and add nothing, as long as no infinity is multiplied by it.
        const double upper_per_C = std::min(smooth_.upper_per_C, std::numeric_limits<double>::max());
        const Variable* variables = problem_.variables.data();
        const double *slack = slack_.data(), *slope = slope_.data();
        const std::size_t rows = problem_.size();
        double t = 1.0, low = 0.0, high = infinity;
        for (int trial = 0; trial < 30; ++trial) {
            double first = wd + t * dd, second = dd;
            for (std::size_t i = 0; i < rows; ++i) {
                const double C = variables[i].C, u = slope[i], inverse = C * scale;
                const double a = (slack[i] - t * u) * inverse, clipped = clip(a, lower, upper_per_C * C);
                first -= clipped * u;
                second += a == clipped ? u * u * inverse : 0.0;
            }
            if (std::abs(first) <= 0.01 * std::abs(initial)) {
                break;
            }
            (first < 0.0 ? low : high) = t;
            t -= first / second;
            if (!(t > low && t < high)) {
                t = high < infinity ? 0.5 * (low + high) : 2.0 * low;
            }
        }
        return t;
    }

    // scatter_ = sum over curved rows of C_i x_i x_i'. Between steps few rows change sides.
    void update_scatter() {
        std::size_t changes = 0, curved = 0;
        for (std::size_t i = 0; i < problem_.size(); ++i) {
            const double C = problem_.variables[i].C;
            const bool now = C > 0.0 && is_curved(slack_[i], C);
            changes += now != curved_[i] ? 1 : 0;
            curved += now ? 1 : 0;
        }
        if (changes >= curved) {
            rebuild_scatter();
            return;
        }
        for (std::size_t i = 0; i < problem_.size(); ++i) {
            const double C = problem_.variables[i].C;
            const bool now = C > 0.0 && is_curved(slack_[i], C);
            if (now != curved_[i]) {
                add_outer(i, now ? C : -C);
                curved_[i] = now;
            }
        }
    }

    void rebuild_scatter() {
        scatter_.clear();
        for (std::size_t i = 0; i < problem_.size(); ++i) {
            const double C = problem_.variables[i].C;
            curved_[i] = C > 0.0 && is_curved(slack_[i], C);
            if (curved_[i]) {
                add_outer(i, C);
            }
        }
    }

    void add_outer(std::size_t i, double scale) {
        problem_.rows.add_outer(i, scale, scatter_);
        const std::size_t last = size_ - 1;
        if (problem_.bias != 0.0) {
            problem_.rows.axpy(i, scale * problem_.bias, scatter_.row(last));
            scatter_.row(last)[last] += scale * problem_.bias * problem_.bias;
        }
    }

    BinaryProblem<Rows> problem_;
    Monitor& monitor_;
    double tol_;
    std::int64_t max_iter_;
    Loss smooth_;
    bool smoothing_;
    std::size_t size_;
    std::vector<double> slack_;
    std::vector<double> slope_;
    std::vector<bool> curved_;
    bool dense_;
    SymmetricMatrix scatter_;
    SymmetricMatrix factor_;
    std::vector<double> gradient_;
    std::vector<double> direction_;
    double best_gap_ = infinity;
    double best_width_ = first_width;
    std::vector<double> best_weights_;
};

}  // namespace maxmargin
