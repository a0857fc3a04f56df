// Two things every kernel needs.
#pragma once

#include <limits>

namespace maxmargin {

inline constexpr double infinity = std::numeric_limits<double>::infinity();

// std::clamp compiles to jumps, which mispredict on margins; this to two instructions.
inline double clip(double a, double lower, double upper) {
    a = a > lower ? a : lower;
    return a < upper ? a : upper;
}

}  // namespace maxmargin
