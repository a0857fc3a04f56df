// A certificate is two bounds: the primal value of any weights and the dual value of any feasible variables. The two
// need not belong together. A run keeps the best of each that it has seen, beginning with zero, so that what it returns
// is never worse than nothing.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "numeric/numbers.hpp"

namespace maxmargin {

// (primal - dual) / |primal|, never negative.
inline double relative_gap(double primal, double dual) {
    return std::max(primal - dual, 0.0) / std::max(std::abs(primal), std::numeric_limits<double>::min());
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

    // Kept if better; values that are no numbers never are.
    bool offer_weights(double primal, const std::vector<double>& weights) {
        const bool better = primal < primal_;
        if (better) {
            primal_ = primal;
            weights_ = weights;
        }
        return better;
    }
    // `copy(variables)` writes them to where the best are kept.
    template <class Copy>
    bool offer_variables(double dual, const Copy& copy) {
        const bool better = dual > dual_ && dual < infinity;
        if (better) {
            dual_ = dual;
            copy(variables_);
        }
        return better;
    }

    // What an exact evaluation of the best weights and the best variables found.
    void correct(double primal, double dual) {
        primal_ = primal;
        dual_ = dual;
    }
    void replace_weights(double primal, std::vector<double> weights) {
        primal_ = primal;
        weights_ = std::move(weights);
    }
    void replace_variables(double dual, Variables variables) {
        dual_ = dual;
        variables_ = std::move(variables);
    }

  private:
    double primal_;
    double dual_ = 0.0;
    std::vector<double> weights_;
    Variables variables_;
};

}  // namespace maxmargin
