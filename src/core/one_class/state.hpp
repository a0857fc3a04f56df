// A one-class problem while it is being solved: min 1/2 |w|^2 - s rho + sum_i C_i max(0, rho - w.x_i), whose dual is
// max -1/2 |sum_i a_i x_i|^2 with 0 <= a_i <= C_i and sum_i a_i = s. Weights have -rho as their last entry.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "rows/any_rows.hpp"
#include "run/bounds.hpp"
#include "run/monitor.hpp"

namespace maxmargin {

// The weights C_i of rows: mostly one number for all.
class RowWeights {
  public:
    explicit RowWeights(double all) : all_(all) {}
    explicit RowWeights(std::vector<double> own) : own_(std::move(own)) {}
    bool are_equal() const { return own_.empty(); }
    double operator[](std::size_t i) const { return own_.empty() ? all_ : own_[i]; }

  private:
    double all_ = 0.0;
    std::vector<double> own_;
};

class OneClassState {
  public:
    // `slope` is s. Zero is what is known: weights of value zero, and no variables that fulfil the condition.
    OneClassState(const AnyRows& rows, RowWeights weights, double slope)
        : C(std::move(weights)), s(slope), bounds(0.0, std::vector<double>(rows.features() + 1), {}), rows_(rows) {
        bounds.revise_dual(-infinity);
    }

    // Known variables, brought within their bounds and to their sum, and known weights; either may be empty.
    void start(std::span<const double> alphas, std::span<const double> weights);

    // Replaces the bounds by exact values of the best weights and the best variables.
    void verify();

    // The best variables; a share of each row's bound where there are none.
    std::vector<double> alpha() const;

    const AnyRows& rows() const { return rows_; }

    RowWeights C;
    double s;
    Bounds<std::vector<double>> bounds;

  private:
    double primal_of(const std::vector<double>& w) const;
    double dual_of(const std::vector<double>& alphas) const;
    double plain_dual_of(const std::vector<double>& alphas) const;

    const AnyRows& rows_;
};

// Tolerances below this need sums of twice the digits.
inline constexpr double close_bounds = 1e-9;
// Weights are zero but for rounding below this share of the length of a typical row, per unit of the slope.
inline constexpr double vanishing = 1e-12;

Outcome active_set(OneClassState& state, const Limits& limits, Monitor& monitor);

}  // namespace maxmargin
