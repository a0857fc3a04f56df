// Losses as data. With the slack z_i = target_i - sign_i w.x_i of a row, every loss of the family has the dual (eq. 4
// of Hsieh et al. 2008)
//
//     max sum_i (target_i a_i - epsilon |a_i|) - 1/2 a'Da - 1/2 |sum_i sign_i a_i x_i|^2,   L_i <= a_i <= U_i
//
// and differs only in four numbers: L_i / C_i (0, or negative when a_i has a free sign), U_i / C_i, D_ii * C_i, and
// epsilon, the width of the tube within which a slack costs nothing. The primal loss is its conjugate, max over
// feasible a of a z - epsilon |a| - D a^2 / 2, so it needs no formula of its own. The losses by name are in losses.py.
#pragma once

#include <algorithm>
#include <cmath>

#include "numeric/numbers.hpp"
#include "numeric/slope_kernels.hpp"

namespace maxmargin {

struct Loss {
    double lower_per_C;
    double upper_per_C;
    double diagonal_times_C;
    double epsilon = 0.0;

    // Piecewise linear: the hinge, or the absolute value outside of the tube.
    bool is_hinge() const { return diagonal_times_C == 0.0; }
    // Whether slacks of one sign cost nothing, and those of the other sign do.
    bool is_one_sided() const { return lower_per_C == 0.0; }
    // Whether many slacks ask for a variable of exactly zero: the right side of the margin, or the tube.
    bool is_flat_at_zero() const { return is_one_sided() || epsilon > 0.0; }

    double lower(double C) const { return lower_per_C * C; }
    double upper(double C) const { return upper_per_C * C; }
    double diagonal(double C) const { return diagonal_times_C / C; }

    double inverse_diagonal(double C) const { return C * (1.0 / diagonal_times_C); }

    // How far a slack is outside of the tube, with its sign.
    double outside(double z) const { return z - clip(z, -epsilon, epsilon); }

    // epsilon times the sign of a variable: the slack at which a variable that lies between its bounds rests.
    double edge(double alpha) const { return alpha > 0.0 ? epsilon : alpha < 0.0 ? -epsilon : 0.0; }

    // Whether the loss is curved where `free`, the distance from the tube over D, comes out of its bounds as `alpha`.
    bool is_curved(double free, double alpha) const { return alpha == free && (alpha != 0.0 || !is_flat_at_zero()); }

    // The slope of the loss at slack z, which is the dual variable that z asks for. Needs D > 0.
    double slope(double z, double C) const { return clip(outside(z) * inverse_diagonal(C), lower(C), upper(C)); }

    // The loss of a row with slack z, C_i included.
    double primal(double z, double C) const {
        const double distance = outside(z);
        if (is_hinge()) {
            return std::max(lower(C) * distance, upper(C) * distance);
        }
        const double a = slope(z, C);
        return a * distance - 0.5 * diagonal(C) * a * a;
    }

    // For loops over many slacks. Needs D > 0.
    SlopeShape shape() const { return {lower_per_C, upper_per_C, 1.0 / diagonal_times_C, epsilon, is_flat_at_zero()}; }

    // What a variable adds to the dual apart from the regulariser.
    double dual(double alpha, double target, double C) const {
        return linear(alpha, target) - 0.5 * diagonal(C) * alpha * alpha;
    }
    double linear(double alpha, double target) const { return target * alpha - epsilon * std::abs(alpha); }
};

}  // namespace maxmargin
