// The mean of the weights over some epochs. Steps on single variables leave noise in the weights, which the primal,
// whose curvature is that of all rows together, feels much more than the dual does. The mean has far less noise as long
// as the iterates wander more than they advance, and it is a bound like any other.
#pragma once

#include <cstddef>
#include <vector>

#include "numeric/simd.hpp"

namespace maxmargin {

class IterateAverage {
  public:
    void add(const std::vector<double>& weights) {
        sums_.resize(weights.size());
        dense_axpy(1.0, weights.data(), sums_.data(), sums_.size());
        ++count_;
    }

    std::size_t count() const { return count_; }

    std::vector<double> mean() const {
        std::vector<double> weights(sums_.size());
        dense_axpy(1.0 / static_cast<double>(count_), sums_.data(), weights.data(), weights.size());
        return weights;
    }

    void forget() {
        sums_.clear();
        count_ = 0;
    }

  private:
    std::vector<double> sums_;
    std::size_t count_ = 0;
};

}  // namespace maxmargin
