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

    // Kept if better; values that are no numbers never are. `plain` says that the value is that of a pass over the
    // rows, without the rounding errors of many steps.
    bool offer_weights(double primal, const std::vector<double>& weights, bool plain = true) {
        const bool better = primal < primal_;
        if (better) {
            primal_ = primal;
            weights_ = weights;
            plain_ = plain;
            exact_ = false;
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
            exact_ = false;
        }
        return better;
    }

    bool primal_is_plain() const { return plain_; }
    bool are_exact() const { return exact_; }

    // What an exact evaluation of the best weights and the best variables found.
    void correct(double primal, double dual) {
        primal_ = primal;
        dual_ = dual;
        exact_ = plain_ = true;
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
    bool plain_ = true, exact_ = true;  // zero is
};

}  // namespace maxmargin
