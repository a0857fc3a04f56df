// A certificate is two bounds: the primal value of any weights and the dual value of any feasible variables. The two
// need not belong together. A run keeps the best of each that it has seen, beginning with zero, so that what it returns
// is never worse than nothing.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "numeric/numbers.hpp"

namespace maxmargin {

// (primal - dual) / |primal|, never negative.
inline double relative_gap(double primal, double dual) {
    return std::max(primal - dual, 0.0) / std::max(std::abs(primal), std::numeric_limits<double>::min());
}

// Whether rounding errors are nobody's concern: up to a small share of the gap, or of a relative gap that is a small
// one.
inline constexpr double smallest_gap = 1e-8;
inline bool is_harmless(double error, double primal, double dual, double small_gap = smallest_gap) {
    constexpr double harmless = 1e-5;
    return error <= harmless * std::max(primal - dual, small_gap * std::abs(primal));
}

template <class Variables>
class Bounds {
  public:
    // Of weights zero and variables zero.
    Bounds(double primal, std::vector<double> weights, Variables variables)
        : primal_(primal), weights_(std::move(weights)), variables_(std::move(variables)) {}

    double primal() const { return primal_; }
    double dual() const { return dual_; }
    double gap() const { return relative_gap(primal_, dual_); }
    const std::vector<double>& weights() const { return weights_; }
    const Variables& variables() const { return variables_; }

    // Kept if better; values that are no numbers never are. `error` is how far the value may be off beside what a plain
    // pass over the rows may be; infinite if that is not known.
    bool offer_weights(double primal, std::span<const double> weights, double error = 0.0) {
        const bool better = primal < primal_;
        if (better) {
            if (primal_is_exact_) {
                verified_weights_ = {primal_, std::move(weights_)};
                primal_is_exact_ = false;
            }
            primal_ = primal;
            weights_.assign(weights.begin(), weights.end());
            primal_error_ = error;
        }
        return better;
    }
    // `copy(variables)` writes them to where the best are kept; `error` is how far the value may be off, if that is
    // known.
    template <class Copy>
    bool offer_variables(double dual, const Copy& copy, double error = infinity) {
        const bool better = dual > dual_ && dual < infinity;
        if (better) {
            if (dual_is_exact_) {
                verified_variables_ = {dual_, std::move(variables_)};
                dual_is_exact_ = false;
            }
            dual_ = dual;
            dual_error_ = error;
            copy(variables_);
        }
        return better;
    }

    double primal_error() const { return primal_is_exact_ ? 0.0 : primal_error_; }
    double dual_error() const { return dual_is_exact_ ? 0.0 : dual_error_; }
    bool are_exact() const { return primal_is_exact_ && dual_is_exact_; }

    // What an exact evaluation of the best weights and the best variables found. Those that were verified before come
    // back where only rounding errors have made others seem better.
    void correct(double primal, double dual) {
        primal_ = primal;
        dual_ = dual;
        if (verified_weights_ && verified_weights_->first <= primal_) {
            std::tie(primal_, weights_) = std::move(*verified_weights_);
        }
        if (verified_variables_ && verified_variables_->first >= dual_) {
            std::tie(dual_, variables_) = std::move(*verified_variables_);
        }
        verified_weights_.reset();
        verified_variables_.reset();
        dual_ = std::min(dual_, primal_);
        primal_is_exact_ = dual_is_exact_ = true;
    }
    // The value of the best variables, computed anew by a plain pass.
    void revise_dual(double dual) {
        dual_ = dual;
        dual_error_ = 0.0;
    }
    void replace_weights(double primal, std::vector<double> weights) {
        primal_ = primal;
        weights_ = std::move(weights);
        primal_error_ = 0.0;
    }
    void replace_variables(Variables variables) { variables_ = std::move(variables); }

  private:
    double primal_;
    double dual_ = 0.0;
    double primal_error_ = 0.0, dual_error_ = 0.0;
    std::vector<double> weights_;
    Variables variables_;
    bool primal_is_exact_ = true, dual_is_exact_ = true;  // zero is
    std::optional<std::pair<double, std::vector<double>>> verified_weights_;
    std::optional<std::pair<double, Variables>> verified_variables_;
};

}  // namespace maxmargin
