// Losses as data. Every binary loss of the family has the dual (eq. 4 of Hsieh et al. 2008)
//
//     min 1/2 a'(Q + D)a - e'a,   lower <= a_i <= U_i
//
// and differs only in three numbers: the lower bound (0, or -inf when a_i has a free sign), U_i / C_i and D_ii * C_i.
// The primal loss is its conjugate, max over feasible a of a z - D a^2 / 2 with z = 1 - y_i w.x_i, so it needs no
// formula of its own. The losses by name are in losses.py.
#pragma once

#include <algorithm>
#include <limits>

namespace maxmargin {

// std::clamp compiles to jumps, which mispredict on margins; this to two instructions.
inline double clip(double a, double lower, double upper) {
    a = a > lower ? a : lower;
    return a < upper ? a : upper;
}

struct Loss {
    double lower;
    double upper_per_C;
    double diagonal_times_C;

    double upper(double C) const { return upper_per_C * C; }
    double diagonal(double C) const { return diagonal_times_C / C; }

    double inverse_diagonal(double C) const { return C * (1.0 / diagonal_times_C); }

    // The slope of the loss at slack z = 1 - margin, which is the dual variable that z asks for. Needs D > 0.
    double slope(double z, double C) const { return clip(z * inverse_diagonal(C), lower, upper(C)); }

    // The loss of a row with slack z, C_i included.
    double primal(double z, double C) const {
        if (diagonal_times_C == 0.0) {
            return std::max(lower * z, upper(C) * z);
        }
        const double a = slope(z, C);
        return a * z - 0.5 * diagonal(C) * a * a;
    }
};

inline constexpr double infinity = std::numeric_limits<double>::infinity();

}  // namespace maxmargin
