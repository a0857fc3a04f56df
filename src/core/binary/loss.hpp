// Losses as data. With the slack z_i = target_i - sign_i w.x_i of a row, every loss of the family has the dual (eq. 4
// of Hsieh et al. 2008)
//
//     max target'a - 1/2 a'Da - 1/2 |sum_i sign_i a_i x_i|^2,   lower <= a_i <= U_i
//
// and differs only in three numbers: the lower bound (0, or -inf when a_i has a free sign), U_i / C_i and D_ii * C_i.
// The primal loss is its conjugate, max over feasible a of a z - D a^2 / 2, so it needs no formula of its own. The
// losses by name are in losses.py.
#pragma once

#include <algorithm>

#include "numeric/numbers.hpp"

namespace maxmargin {

struct Loss {
    double lower;
    double upper_per_C;
    double diagonal_times_C;

    bool is_hinge() const { return diagonal_times_C == 0.0; }

    double upper(double C) const { return upper_per_C * C; }
    double diagonal(double C) const { return diagonal_times_C / C; }

    double inverse_diagonal(double C) const { return C * (1.0 / diagonal_times_C); }

    // The slope of the loss at slack z, which is the dual variable that z asks for. Needs D > 0.
    double slope(double z, double C) const { return clip(z * inverse_diagonal(C), lower, upper(C)); }

    // The loss of a row with slack z, C_i included.
    double primal(double z, double C) const {
        if (is_hinge()) {
            return std::max(lower * z, upper(C) * z);
        }
        const double a = slope(z, C);
        return a * z - 0.5 * diagonal(C) * a * a;
    }

    // What a variable adds to the dual apart from the regulariser.
    double dual(double alpha, double target, double C) const {
        return target * alpha - 0.5 * diagonal(C) * alpha * alpha;
    }
};

}  // namespace maxmargin
