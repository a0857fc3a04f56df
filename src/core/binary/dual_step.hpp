// One exact step of dual coordinate descent on the variable of one row, given the row's score.
#pragma once

#include <algorithm>
#include <cmath>

#include "binary/certificate.hpp"
#include "binary/orders.hpp"
#include "binary/problem.hpp"
#include "numeric/compiler.hpp"

namespace maxmargin {

struct DualStep {
    double alpha;      // the new value of the variable
    double change;     // of it
    double gain;       // of the dual
    double gap_share;  // of the row, before the step
    double violation;  // the projected gradient, eq. 8
    bool shrinks;      // whether the row is to be left out, and so does not change
};

// The exact solution of (5), eq. 9, with a tube that of Ho & Lin 2012. A zero row without diagonal has zero
// curvature and goes to its bound, or inside of the tube to zero, at once.
MAXMARGIN_INLINE double minimiser(double alpha, double curvature, double G, double epsilon, double lower,
                                  double upper) {
    if (curvature > 0.0) {
        const double free = alpha - G / curvature;
        if (epsilon == 0.0) {
            return clip(free, lower, upper);
        }
        const double most = epsilon / curvature;
        return clip(free - clip(free, -most, most), lower, upper);
    }
    return G < -epsilon ? upper : G > epsilon || epsilon == 0.0 ? lower : 0.0;
}

// `score` is w.x_i with the bias; `curvature(v, diagonal)` that of the dual along the variable.
template <class Curvature>
MAXMARGIN_INLINE DualStep step_on(const Loss& loss, const Variable& v, double score, const ShrinkRule& rule,
                                  const Curvature& curvature_of) {
    const double C = v.C(), epsilon = loss.epsilon, before = v.alpha;
    const double lower = loss.lower(C), upper = loss.upper(C), diagonal = loss.diagonal(C);
    const double z = v.target - v.sign() * score;
    const double G = diagonal * before - z;
    DualStep step{before, 0.0, 0.0, gap_share(loss, v, z), 0.0, false};
    // The gradients of larger and of smaller variables, which differ where the tube makes a kink.
    const double rising = before < 0.0 ? G - epsilon : G + epsilon;
    const double falling = before > 0.0 ? G + epsilon : G - epsilon;
    step.violation = before < 0.0 ? falling : rising;
    if (before <= lower) {
        step.shrinks = rising > rule.above;
        step.violation = std::min(rising, 0.0);
    } else if (before >= upper) {
        step.shrinks = falling < rule.below;
        step.violation = std::max(falling, 0.0);
    } else if (before == 0.0 && epsilon > 0.0) {
        step.shrinks = rising > rule.above && falling < rule.below;
        step.violation = rising < 0.0 ? rising : std::max(falling, 0.0);
    }
    if (!step.shrinks) {
        const double curvature = curvature_of(v, diagonal);
        const double alpha = minimiser(before, curvature, G, epsilon, lower, upper);
        const double d = alpha - before;
        step.alpha = alpha;
        step.change = d;
        if (d != 0.0) {
            step.gain = -d * (G + 0.5 * curvature * d) - epsilon * (std::abs(alpha) - std::abs(before));
        }
    }
    return step;
}

}  // namespace maxmargin
