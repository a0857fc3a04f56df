// Primal coordinate descent (Chang, Hsieh & Lin 2008) for losses with a curvature: features in random order, for each a
// Newton step on its weight alone with a line search. Slacks are maintained; columns are a copy (columns.hpp).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "certificate.hpp"
#include "columns.hpp"
#include "free_bias.hpp"
#include "monitor.hpp"
#include "problem.hpp"
#include "random.hpp"
#include "solvers.hpp"

namespace maxmargin {

template <class Rows>
class PrimalCoordinateDescent {
  public:
    PrimalCoordinateDescent(BinaryProblem<Rows> problem, Monitor& monitor, const PrimalOptions& options)
        : problem_(problem),
          monitor_(monitor),
          options_(options),
          columns_(problem),
          slack_(problem.size()),
          largest_curvature_(problem.features() + 1),
          random_(options.seed) {
        for (std::size_t j = 0; j <= problem.features(); ++j) {
            visit(j, [&](std::size_t i, double x) {
                largest_curvature_[j] += x * x * problem_.loss.inverse_diagonal(problem_.variables[i].C);
            });
            if (!columns_[j].rows.empty()) {
                features_.push_back(static_cast<RowIndex>(j));
            }
        }
    }

    // Starts from the weights in `w`; leaves alphas in the problem's variables and the weights that belong to them in
    // `w`.
    Outcome run(std::vector<double>& w) {
        Certificate best;
        std::vector<double> best_alphas, pair;
        double check_seconds = 0.0;
        for (std::int64_t epoch = 0;; ++epoch) {
            const bool last = epoch > 0 && (monitor_.look() || epoch >= options_.max_iter);
            const bool check = last || epoch % epochs_between_checks == 0;
            if (check) {
                find_slacks(w);  // without the rounding errors of many steps
            }
            if (check && epoch > 0) {
                const double before = monitor_.seconds();
                read_alphas();
                pair = w;
                balance(problem_);
                weights_of(problem_, pair);
                const Certificate exact = certify(problem_, pair);
                if (exact.gap() < best.gap() || best_alphas.empty()) {
                    best = exact;
                    problem_.copy_alphas(best_alphas);
                }
                check_seconds += monitor_.seconds() - before;
                monitor_.report({epoch, monitor_.seconds(), exact.primal, exact.dual, exact.gap(),
                                 static_cast<std::int64_t>(curved_), pair});
                if (exact.gap() <= options_.tol || last || monitor_.ended()) {
                    problem_.assign(best_alphas);
                    weights_of(problem_, w);
                    const Exit exit = monitor_.ended() ? monitor_.exit() : Exit::max_iter;
                    return {best, epoch, best.gap() <= options_.tol ? Exit::converged : exit, check_seconds};
                }
            }
            random_.shuffle(std::span(features_));
            for (const RowIndex j : features_) {
                step(j, w[j]);
                if (monitor_.poll(2 * columns_[j].rows.size())) {
                    break;
                }
            }
        }
    }

  private:
    static constexpr std::int64_t epochs_between_checks = 4;
    static constexpr double sufficient = 0.01;  // decrease, sigma of the paper
    static constexpr double shorter = 0.5;      // step, beta of the paper

    // visit(row, y_i x_ij) for the entries of a column.
    template <class Visit>
    void visit(std::size_t j, Visit visit_entry) const {
        const auto column = columns_[j];
        const double scale = j == problem_.features() ? problem_.bias : 1.0;
        for (std::size_t k = 0; k < column.rows.size(); ++k) {
            const std::size_t i = column.rows[k];
            visit_entry(i, scale * static_cast<double>(column.values[k]) * problem_.variables[i].y);
        }
    }

    void find_slacks(const std::vector<double>& w) {
        for (std::size_t i = 0; i < problem_.size(); ++i) {
            slack_[i] = problem_.variables[i].C > 0.0 ? problem_.slack(i, w.data()) : 0.0;
        }
    }

    // Minimises over one weight: the derivatives of eq. 10 and 11 there, and the condition of sufficient decrease,
    // which a step short enough by the bound of the curvature fulfils anyway.
    void step(std::size_t j, double& weight) {
        const Loss& loss = problem_.loss;
        const double regular = j == problem_.features() && problem_.free_bias ? 0.0 : 1.0;
        double first = regular * weight, second = regular;
        visit(j, [&](std::size_t i, double x) {
            const double inverse = loss.inverse_diagonal(problem_.variables[i].C);
            const double free = slack_[i] * inverse, alpha = clip(free, loss.lower, infinity);
            first -= alpha * x;
            second += free > loss.lower ? x * x * inverse : 0.0;
        });
        if (first == 0.0 || !(second > 0.0)) {
            return;
        }
        const double d = -first / second;
        const double safe = second / (0.5 * (regular + largest_curvature_[j]) + sufficient * second);
        double t = 1.0;
        while (t > safe && change(j, weight, t * d) > -sufficient * second * t * t * d * d) {
            t *= shorter;
        }
        if (t * d != 0.0) {
            weight += t * d;
            visit(j, [&](std::size_t i, double x) { slack_[i] -= t * d * x; });
        }
    }

    // Of the objective, when the weight changes by d.
    double change(std::size_t j, double weight, double d) const {
        const double regular = j == problem_.features() && problem_.free_bias ? 0.0 : 1.0;
        double sum = regular * d * (weight + 0.5 * d);
        visit(j, [&](std::size_t i, double x) {
            const double C = problem_.variables[i].C;
            sum += problem_.loss.primal(slack_[i] - d * x, C) - problem_.loss.primal(slack_[i], C);
        });
        return sum;
    }

    // The dual variables that the slacks ask for.
    void read_alphas() {
        curved_ = 0;
        for (std::size_t i = 0; i < problem_.size(); ++i) {
            Variable& v = problem_.variables[i];
            if (v.C > 0.0) {
                v.alpha = problem_.loss.slope(slack_[i], v.C);
                curved_ += v.alpha != 0.0 ? 1 : 0;
            }
        }
    }

    BinaryProblem<Rows> problem_;
    Monitor& monitor_;
    const PrimalOptions& options_;
    Columns<Rows> columns_;
    std::vector<double> slack_;
    std::vector<double> largest_curvature_;
    std::vector<RowIndex> features_;
    std::size_t curved_ = 0;
    Random random_;
};

}  // namespace maxmargin
