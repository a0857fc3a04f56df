// The exact line search of Newton's method: the root of the derivative along a step, which is continuous, rising and
// piecewise linear.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include "binary/loss.hpp"
#include "binary/near_rows.hpp"
#include "numeric/slope_kernels.hpp"

namespace maxmargin {

// The derivative of the quadratic part, of the regulariser and of the far rows, is first + t second; `initial` is that
// of the whole objective at the start. Found to `accuracy`, a share of it, and from below: beyond the root a slope that
// is small beside a very steep start can still lead far up. Steps that are mostly gradient can be a million times too
// long.
template <class Rows>
double search_line(const NearRows<Rows>& near, const Loss& loss, double first, double second, double initial,
                   double accuracy) {
    constexpr int most_trials = 60;
    constexpr double rounding = 1e-12, close = 1e-9;  // of the slope at the start; of the step
    const SlopeShape shape = loss.shape();
    const double *slack = near.slack.data(), *slope = near.slope.data(), *weight = near.C.data();
    const Chunks chunks = near.short_chunks();
    std::vector<LineSums> sums(chunks.count());
    double t = 1.0, low = 0.0, high = infinity;
    for (int trial = 0; trial < most_trials; ++trial) {
        chunks.for_each(near.team(), [&](std::size_t chunk, std::size_t begin, std::size_t end) {
            sums[chunk] = sum_along(shape, slack + begin, slope + begin, weight + begin, end - begin, t);
        });
        double derivative = first + t * second, curvature = second;
        for (const auto& [falling, bending] : sums) {
            derivative -= falling;
            curvature += bending;
        }
        if (derivative <= 0.0 && -derivative <= accuracy * std::abs(initial)) {
            return t;
        }
        if (std::abs(derivative) <= rounding * std::abs(initial) && std::abs(derivative) <= close * curvature * t) {
            return t;  // the root but for rounding, on either side
        }
        (derivative < 0.0 ? low : high) = t;
        t -= derivative / curvature;
        if (!(t > low && t < high)) {
            t = low == 0.0 ? 0.1 * high : high < infinity ? 0.5 * (low + high) : 2.0 * low;
        }
    }
    return low > 0.0 ? low : t;
}

}  // namespace maxmargin
