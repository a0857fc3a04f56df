// A binary problem while it is being solved: its variables, and the best bounds that any stage has seen. Every method
// starts from the best and leaves what it finds there.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "binary/problem.hpp"
#include "numeric/huge_array.hpp"
#include "rows/any_rows.hpp"
#include "run/bounds.hpp"
#include "run/team.hpp"

namespace maxmargin {

// What is given for each row of a problem.
struct BinaryRow {
    double C;
    double sign;
    double target;
};

// The primal and the dual value of a start, and how far they may be off.
struct KnownValues {
    double primal;
    double dual;
    double error;
};

class BinaryState {
  public:
    // `row(i)` tells what is given for row i.
    template <class GivenRow>
    BinaryState(const AnyRows& rows, Loss of_rows, Bias column, GivenRow row)
        : loss(of_rows), bias(column), bounds(0.0, {}, {}), rows_(rows) {
        const std::vector<double>& norms = rows.squared_norms();
        variables.resize(rows.size());
        double at_zero = 0.0;
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const BinaryRow given = row(i);
            Variable& v = variables[i];
            v.alpha = 0.0;
            v.signed_C = given.sign * given.C;
            v.target = given.target;
            if (given.C > 0.0) {
                v.curvature = norms[i] + loss.diagonal(given.C);
                at_zero += loss.primal(given.target, given.C);
            }
        }
        std::vector<double> weights(rows.features() + 1);
        if (bias.free && bias.slope == 0.0 && one_bias_fits_all()) {
            weights.back() = position_of_bias() / bias.value;
            at_zero = 0.0;
        }
        bounds = {at_zero, std::move(weights), std::vector<double>(rows.size())};
        if (bias.slope != 0.0) {
            bounds.revise_dual(-infinity);  // variables of zero do not fulfil its condition
        }
    }

    BinaryState(const BinaryState&) = delete;
    BinaryState& operator=(const BinaryState&) = delete;

    // Known dual variables, brought within their bounds, and known weights; either may be empty. Where both are given
    // with the values they have, no pass over the rows is made.
    void start(std::span<const double> alphas, std::span<const double> weights,
               const std::optional<KnownValues>& values = {});

    // Replaces the bounds by exact values of the best weights and the best variables. Throws std::invalid_argument
    // where these are no numbers, which only happens when the data were changed meanwhile. With a tolerance, the
    // errors that bounds were offered with are added to the gap instead of being computed away where they are far below
    // it.
    void verify(Team* team = nullptr, double tol = 0.0);

    template <class Solve>
    auto visit(const Solve& solve) {
        return solve(BinaryProblem<UserRows>{rows_.rows(), variables, loss, bias});
    }

    // The variables as the best ones; `error` is how far their value may be off.
    template <class Rows>
    bool offer_variables(double dual, const BinaryProblem<Rows>& problem, double error = infinity,
                         Team* team = nullptr) {
        return bounds.offer_variables(dual, [&](std::vector<double>& best) { problem.copy_alphas(best, team); }, error);
    }

    const AnyRows& rows() const { return rows_; }

    HugeVector<Variable> variables;
    Loss loss;
    Bias bias;
    Bounds<std::vector<double>> bounds;
    std::size_t parts = 1;  // that the last descent shared its sweeps in (team_sweep.hpp)

  private:
    // Whether a free bias alone leaves no losses, as where all rows are of one class or all targets within one tube.
    // Then that is the optimum, zero, which no method would reach but for rounding.
    bool one_bias_fits_all() const {
        const auto [lowest, highest] = range_of_positions();
        return highest - loss.epsilon <= lowest + loss.epsilon;
    }
    double position_of_bias() const {
        const auto [lowest, highest] = range_of_positions();
        return lowest < highest ? 0.5 * (lowest + highest) : highest;
    }
    std::pair<double, double> range_of_positions() const {
        double lowest = infinity, highest = -infinity;
        for (const Variable& v : variables) {
            if (v.takes_part()) {
                lowest = std::min(lowest, v.sign() * v.target);
                highest = std::max(highest, v.sign() * v.target);
            }
        }
        return {lowest, highest};
    }

    const AnyRows& rows_;
};

}  // namespace maxmargin
