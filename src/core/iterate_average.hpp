// The mean of the variables over some epochs. Steps on single variables leave noise in the weights, which the primal,
// whose curvature is that of all rows together, feels much more than the dual does. Means of feasible variables are
// feasible, and their weights are the means of the weights: a pair like any other, with far less noise as long as the
// iterates wander more than they advance.
#pragma once

#include <cstddef>
#include <vector>

#include "loss.hpp"
#include "problem.hpp"

namespace maxmargin {

class IterateAverage {
  public:
    template <class Rows>
    void add(const BinaryProblem<Rows>& problem, double bias) {
        alphas_.resize(problem.size());
        for (std::size_t i = 0; i < problem.size(); ++i) {
            alphas_[i] += problem.variables[i].alpha;
        }
        bias_ += bias;
        ++count_;
    }

    std::size_t count() const { return count_; }

    double bias() const { return bias_ / static_cast<double>(count_); }

    // Puts the means into the problem's variables and the weights that belong to them into `w`.
    template <class Rows>
    void take(const BinaryProblem<Rows>& problem, std::vector<double>& w) const {
        const double share = 1.0 / static_cast<double>(count_);
        for (std::size_t i = 0; i < problem.size(); ++i) {
            Variable& v = problem.variables[i];
            if (v.C > 0.0) {
                v.alpha = clip(share * alphas_[i], problem.loss.lower, problem.loss.upper(v.C));
            }
        }
        problem.sum_rows(w);
    }

    void forget() {
        alphas_.clear();
        bias_ = 0.0;
        count_ = 0;
    }

  private:
    std::vector<double> alphas_;
    double bias_ = 0.0;
    std::size_t count_ = 0;
};

}  // namespace maxmargin
