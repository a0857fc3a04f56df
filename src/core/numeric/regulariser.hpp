// The regularisers r(w), 1/2 |w|^2 and |w|_1, and their conjugates r*(v) at the sums v of rows, which the dual
// subtracts. This is the one place that knows their formulas.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "numeric/simd.hpp"

namespace maxmargin {

struct Regulariser {
    bool free_bias = false;   // the last weight is left out
    double last_slope = 0.0;  // and counts by itself times this

    double value(std::span<const double> w) const { return 0.5 * dot(w, w) + last_slope * w.back(); }
    // The derivative at w along a direction.
    double slope(std::span<const double> w, std::span<const double> direction) const {
        return dot(w, direction) + last_slope * direction.back();
    }
    // At sums whose last entry is the slope where the bias is free: that is the condition of its dual variables.
    double conjugate(std::span<const double> sums) const { return 0.5 * dot(sums, sums); }
    double dot(std::span<const double> a, std::span<const double> b) const {
        return dense_dot(a.data(), b.data(), a.size() - (free_bias ? 1 : 0));
    }
};

// |w|_1. Its conjugate is 0 where no sum is larger than 1 in size, and infinite elsewhere.
struct L1Norm {
    bool free_bias = false;  // the last weight is left out

    double value(const std::vector<double>& w) const {
        double sum = 0.0;
        for (std::size_t j = 0; j < count(w); ++j) {
            sum += std::abs(w[j]);
        }
        return sum;
    }
    // The size of the largest sum, by which variables are divided to make them feasible.
    double dual_norm(const std::vector<double>& sums) const {
        double largest = 0.0;
        for (std::size_t j = 0; j < count(sums); ++j) {
            largest = std::max(largest, std::abs(sums[j]));
        }
        return largest;
    }

  private:
    std::size_t count(const std::vector<double>& w) const { return w.size() - (free_bias ? 1 : 0); }
};

}  // namespace maxmargin
