// A binary problem with the regulariser |w|_1 while it is being solved,
//
//     min |w|_1 + sum_i loss_i(target_i - sign_i w.x_i)
//     max sum_i (target_i a_i - D_ii a_i^2 / 2)   with   |sum_i sign_i a_i x_ij| <= 1 for every feature j,
//
// and a within the bounds of its loss. Any variables become feasible when they are divided by the largest of these
// sums, which is how every dual bound is found.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "binary/l1_conflicts.hpp"
#include "binary/problem.hpp"
#include "binary/state.hpp"
#include "numeric/regulariser.hpp"
#include "rows/any_rows.hpp"
#include "run/bounds.hpp"

namespace maxmargin {

class L1State {
  public:
    // `row(i)` tells what is given for row i.
    template <class GivenRow>
    L1State(const AnyRows& rows, Loss of_rows, Bias column, GivenRow row)
        : loss(of_rows), bias(column), bounds(0.0, {}, {}), rows_(rows) {
        const std::vector<double>& norms = rows.squared_norms();
        variables.resize(rows.size());
        double at_zero = 0.0;
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const BinaryRow given = row(i);
            variables[i] = {0.0, norms[i], given.sign * given.C, given.target};
            at_zero += given.C > 0.0 ? loss.primal(given.target, given.C) : 0.0;
        }
        bounds = {at_zero, std::vector<double>(rows.features() + 1), std::vector<double>(rows.size())};
    }

    L1State(const L1State&) = delete;
    L1State& operator=(const L1State&) = delete;

    L1Norm regulariser() const { return {bias.free}; }

    // Known dual variables, made feasible, and known weights; either may be empty.
    void start(std::span<const double> alphas, std::span<const double> weights);

    // Replaces the bounds by exact values of the best weights and the best variables. Throws std::invalid_argument
    // where these are no numbers, which only happens when the data were changed meanwhile.
    void verify();

    template <class Solve>
    auto visit(const Solve& solve) {
        return solve(BinaryProblem<UserRows>{rows_.rows(), variables, loss, bias});
    }

    // Offers weights whose losses are known.
    void offer_weights(const std::vector<double>& w, double losses) {
        bounds.offer_weights(regulariser().value(w) + losses, w);
    }

    // Makes the variables feasible, by the factor that is best for them, and offers them. `sums` are their sums of
    // rows before. Returns the factor.
    template <class Rows>
    double offer_variables(const BinaryProblem<Rows>& problem, const std::vector<double>& sums) {
        TwofoldSum linear, quadratic;
        for (const Variable& v : variables) {
            if (v.alpha != 0.0) {
                linear.add(v.target * v.alpha);
                quadratic.add(0.5 * loss.diagonal(v.C()) * v.alpha * v.alpha);
            }
        }
        const double factor = feasible_factor(linear.value(), quadratic.value(), regulariser().dual_norm(sums));
        for (Variable& v : variables) {
            v.alpha *= factor;
        }
        double dual = factor * (linear.value() - factor * quadratic.value());
        if (conflicts && !conflicts->empty()) {
            conflicts->improve(variables, loss);
            dual = problem.dual_terms();
        }
        bounds.offer_variables(dual, [&](std::vector<double>& best) { problem.copy_alphas(best); });
        return factor;
    }

    // The factor f for which f * linear - f^2 * quadratic is largest among those that keep every sum within 1.
    // Variables with an upper bound must not grow.
    double feasible_factor(double linear, double quadratic, double largest) const {
        const double best = quadratic > 0.0 ? 0.5 * linear / quadratic : 1.0;
        const double most = loss.upper_per_C < infinity ? 1.0 : infinity;
        const double feasible = largest > 0.0 ? 1.0 / largest : infinity;
        return std::max(std::min({best, most, feasible}), 0.0);
    }

    const AnyRows& rows() const { return rows_; }

    std::vector<Variable> variables;  // `curvature` holds |x_i|^2 alone
    Loss loss;
    Bias bias;
    Bounds<std::vector<double>> bounds;
    std::optional<L1Conflicts> conflicts;  // once they are looked for

  private:
    const AnyRows& rows_;
};

}  // namespace maxmargin
