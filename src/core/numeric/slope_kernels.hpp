// The loops of Newton's method that go over slacks and not over rows: slopes of the loss, what they add up to, and the
// derivative along a step. slope_kernels.cpp compiles each for several instruction sets.
#pragma once

#include <cstddef>
#include <cstdint>

namespace maxmargin {

// The slope of a loss at a slack z: the distance from the tube times C * scale, cut off at lower * C and upper * C.
struct SlopeShape {
    double lower, upper, scale, epsilon;
    bool flat_at_zero;  // whether a slope of exactly zero belongs to a flat part of the loss
};

struct SlopeSums {
    double losses;  // of the loss with these slopes
    double kinked;  // of the loss without its curved part: the hinge, the absolute value; of use only where it has none
    double terms;   // what the curvature adds to the dual
};

// Slopes of n slacks, whether the loss is curved there, and sums.
SlopeSums find_slopes(const SlopeShape& shape, const double* slack, const double* C, std::size_t n, double* slopes,
                      std::uint8_t* curved);

struct LineSums {
    double falling;  // how fast the losses fall along the line
    double bending;  // and how fast that changes
};

// Slacks z - t u.
LineSums sum_along(const SlopeShape& shape, const double* slack, const double* u, const double* C, std::size_t n,
                   double t);

}  // namespace maxmargin
