// The mean of the iterates of some epochs. Steps on single variables leave noise in the weights, which the primal,
// whose curvature is that of all rows together, feels much more than the dual does. Means of feasible variables are
// feasible, and their weights are the means of the weights: a pair like any other, with far less noise as long as the
// iterates wander more than they advance.
#pragma once

#include <cstddef>
#include <vector>

#include "problem.hpp"

namespace maxmargin {

class IterateAverage {
  public:
    template <class Rows>
    void add(const BinaryProblem<Rows>& problem, const std::vector<double>& w) {
        alphas_.resize(problem.size());
        weights_.resize(w.size());
        for (std::size_t i = 0; i < problem.size(); ++i) {
            alphas_[i] += problem.variables[i].alpha;
        }
        for (std::size_t j = 0; j < w.size(); ++j) {
            weights_[j] += w[j];
        }
        ++count_;
    }

    std::size_t count() const { return count_; }

    // Puts the mean into the problem's variables and into `w`, and begins anew.
    template <class Rows>
    void take(const BinaryProblem<Rows>& problem, std::vector<double>& w) {
        const double share = 1.0 / static_cast<double>(count_);
        for (std::size_t i = 0; i < problem.size(); ++i) {
            Variable& v = problem.variables[i];
            if (v.C > 0.0) {
                v.alpha = clip(share * alphas_[i], problem.loss.lower, problem.loss.upper(v.C));
            }
        }
        for (double& weight : weights_) {
            weight *= share;
        }
        w.swap(weights_);
        forget();
    }

    void forget() {
        alphas_.clear();
        weights_.clear();
        count_ = 0;
    }

  private:
    std::vector<double> alphas_, weights_;
    std::size_t count_ = 0;
};

}  // namespace maxmargin
