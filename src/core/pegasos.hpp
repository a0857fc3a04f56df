// Pegasos (Shalev-Shwartz, Singer & Srebro 2007): stochastic subgradient steps of length 1 / (lambda t), lambda =
// 1 / sum C_i, each followed by a projection onto the ball that holds the optimum, |w|^2 <= 1 / lambda.
//
// A step is w <- (1 - 1/t) w + (n C_i / t) y_i x_i if row i violates its margin, so w is a sum over rows, and the
// coefficients, cut off at C_i, are dual variables: they give the certificate. Rows are drawn without replacement,
// since by chance alone a row that always violates its margin would else be far from C_i for long. Weights and
// coefficients are kept as a scale times a sum, and so a step costs one row. The average runs over the iterates since
// the last power of two of epochs: with S the sum of the scales since then, sum_t s_t v_t = S v -
// sum_t S_(t-1) (change of v at t).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "certificate.hpp"
#include "monitor.hpp"
#include "orders.hpp"
#include "problem.hpp"
#include "random.hpp"
#include "solvers.hpp"

namespace maxmargin {

template <class Rows>
class Pegasos {
  public:
    Pegasos(BinaryProblem<Rows> problem, Monitor& monitor, const PrimalOptions& options)
        : problem_(problem),
          monitor_(monitor),
          options_(options),
          random_(options.seed),
          sum_(problem.features() + 1),
          share_(problem.size()),
          late_share_(options.averaging ? problem.size() : 0) {
        for (std::size_t i = 0; i < problem.size(); ++i) {
            if (problem.variables[i].C > 0.0) {
                candidates_.push_back(static_cast<RowIndex>(i));
                total_C_ += problem.variables[i].C;
            }
        }
    }

    // Starts from the alphas in the problem's variables and leaves the best ones there, with the weights that belong to
    // them.
    Outcome run(std::vector<double>& w) {
        start();
        const double count = static_cast<double>(candidates_.size());
        Certificate best;
        std::vector<double> best_alphas;
        double check_seconds = 0.0;
        for (std::int64_t epoch = 1;; ++epoch) {
            random_.shuffle(std::span(candidates_));
            for (const RowIndex i : candidates_) {
                if (monitor_.poll(step(i, count))) {
                    break;
                }
            }
            const bool last = monitor_.look() || epoch >= options_.max_iter;
            const bool power = (epoch & (epoch - 1)) == 0;
            if (last || power || epoch % epochs_between_checks == 0) {
                const double before = monitor_.seconds();
                read_alphas();
                problem_.sum_rows(w);
                const Certificate exact = certify(problem_, w);
                if (exact.gap() < best.gap() || best_alphas.empty()) {
                    best = exact;
                    problem_.copy_alphas(best_alphas);
                }
                check_seconds += monitor_.seconds() - before;
                monitor_.report({epoch, monitor_.seconds(), exact.primal, exact.dual, exact.gap(),
                                 static_cast<std::int64_t>(candidates_.size()), w});
                if (exact.gap() <= options_.tol || last || monitor_.ended()) {
                    problem_.assign(best_alphas);
                    problem_.sum_rows(w);
                    const Exit exit = monitor_.ended() ? monitor_.exit() : Exit::max_iter;
                    return {best, epoch, best.gap() <= options_.tol ? Exit::converged : exit, check_seconds};
                }
            }
            if (power) {
                average_from_ = t_;
                scales_ = 0.0;
                std::fill(late_share_.begin(), late_share_.end(), 0.0);
            }
        }
    }

  private:
    static constexpr std::int64_t epochs_between_checks = 16;
    static constexpr double smallest_scale = 1e-100;

    // Given alphas count as the sum after one epoch.
    void start() {
        bool warm = false;
        for (const RowIndex i : candidates_) {
            share_[i] = problem_.variables[i].alpha;
            warm = warm || share_[i] != 0.0;
        }
        problem_.sum_rows(sum_);
        squared_norm_ = problem_.squared_norm(sum_);
        t_ = warm ? static_cast<double>(candidates_.size()) : 0.0;
    }

    std::size_t step(std::size_t i, double count) {
        const Variable& v = problem_.variables[i];
        t_ += 1.0;
        const double margin = scale_ * problem_.margin(i, sum_.data());
        if (t_ > 1.0) {
            scale_ *= 1.0 - 1.0 / t_;
            squared_norm_ *= (1.0 - 1.0 / t_) * (1.0 - 1.0 / t_);
        }
        if (margin < 1.0) {
            const double a = count * v.C / t_, before = margin * (1.0 - 1.0 / t_);
            squared_norm_ += a * (2.0 * before + a * (v.curvature + problem_.bias * problem_.bias));
            problem_.add_row(i, a / scale_ * v.y, sum_.data());
            share_[i] += a / scale_;
            if (options_.averaging) {
                late_share_[i] += scales_ * (a / scale_);
            }
        }
        if (options_.projection && squared_norm_ > total_C_) {
            scale_ *= std::sqrt(total_C_ / squared_norm_);
            squared_norm_ = total_C_;
        }
        scales_ += scale_;
        if (scale_ < smallest_scale) {
            rescale();
        }
        return 2 * problem_.rows.stored(i);
    }

    void rescale() {
        for (double& value : sum_) {
            value *= scale_;
        }
        for (double& value : share_) {
            value *= scale_;
        }
        scales_ /= scale_;
        scale_ = 1.0;
    }

    void read_alphas() {
        for (const RowIndex i : candidates_) {
            Variable& v = problem_.variables[i];
            const double average =
                options_.averaging ? (scales_ * share_[i] - late_share_[i]) / (t_ - average_from_) : 0.0;
            v.alpha = clip(options_.averaging ? average : scale_ * share_[i], 0.0, v.C);
        }
        squared_norm_ = scale_ * scale_ * problem_.squared_norm(sum_);  // without the rounding errors of many steps
    }

    BinaryProblem<Rows> problem_;
    Monitor& monitor_;
    const PrimalOptions& options_;
    Random random_;
    std::vector<RowIndex> candidates_;
    double total_C_ = 0.0;
    double t_ = 0.0;
    double scale_ = 1.0;
    double scales_ = 0.0;        // sum of the scales since the average began
    double average_from_ = 0.0;  // step
    double squared_norm_ = 0.0;
    std::vector<double> sum_;         // v: the weights over the scale
    std::vector<double> share_;       // the coefficients over the scale
    std::vector<double> late_share_;  // sum of S_(t-1) times their changes
};

}  // namespace maxmargin
