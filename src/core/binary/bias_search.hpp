// The bias for which the losses are smallest, given all else: the minimum of a convex function of one number, by
// selection for the hinge and by Newton's method with bisection for losses with a curvature.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "binary/loss.hpp"

namespace maxmargin {

// A row as a function of the bias b: its slack is sign (position - b).
struct BiasTerm {
    double position;
    double C;
    double sign;
};

// Where the losses of a hinge, a sum of C max(0, sign (position - b)), are smallest: the slope rises by C at every
// position, from minus the sum of the positive rows' C to the sum of the others'. The middle of the interval if it is
// one. `slope` is what the bias adds by itself. Reorders the terms.
inline double best_hinge_bias(std::span<BiasTerm> terms, double slope = 0.0) {
    double total = 0.0, target = -slope;
    for (const BiasTerm& t : terms) {
        total += t.C;
        target += t.sign > 0.0 ? t.C : 0.0;
    }
    const double rounding = 1e-14 * total;
    // The first position at which the slope is no longer negative, by cutting away halves.
    double below = 0.0, next = infinity;
    while (terms.size() > 1) {
        const std::size_t half = terms.size() / 2;
        const auto middle = terms.begin() + static_cast<std::ptrdiff_t>(half);
        std::nth_element(terms.begin(), middle, terms.end(),
                         [](const BiasTerm& s, const BiasTerm& t) { return s.position < t.position; });
        double sum = 0.0;
        for (const BiasTerm& t : terms.first(half)) {
            sum += t.C;
        }
        if (below + sum >= target - rounding) {
            next = middle->position;
            terms = terms.first(half);
        } else {
            below += sum;
            terms = terms.subspan(half);
        }
    }
    const double position = terms.front().position, left = target - below, right = below + terms.front().C - target;
    if (std::abs(right) <= rounding && next < infinity) {
        return 0.5 * (position + next);
    }
    // Where the slope is far steeper on one side of the kink, the rounding error of the position must not fall there.
    const double nudge = 4.0 * std::numeric_limits<double>::epsilon() * (1.0 + std::abs(position));
    return right < 0.01 * left ? position + nudge : left < 0.01 * right ? position - nudge : position;
}

// The same for a loss with a curvature: the root of a rising, piecewise linear slope. `others` is what rows that are
// not among the terms add to it, whatever b is.
inline double best_curved_bias(const Loss& loss, std::span<const BiasTerm> terms, double guess, double others = 0.0) {
    double b = guess, low = -infinity, high = infinity, stride = 1.0;
    if (loss.is_flat_at_zero() && others == 0.0) {
        const bool two_sided = !loss.is_one_sided();
        for (const BiasTerm& t : terms) {
            low = t.sign > 0.0 || two_sided ? std::max(low, t.position - loss.epsilon) : low;
            high = t.sign < 0.0 || two_sided ? std::min(high, t.position + loss.epsilon) : high;
        }
        if (low <= high) {  // no loss at all in between
            return low > -infinity && high < infinity ? 0.5 * (low + high) : clip(guess, low, high);
        }
        low = -infinity;
        high = infinity;
    }
    for (int trial = 0; trial < 200; ++trial) {
        double slope = others, curvature = 0.0, size = std::abs(others);
        for (const BiasTerm& t : terms) {
            const double free = loss.outside(t.sign * (t.position - b)) * loss.inverse_diagonal(t.C);
            const double a = clip(free, loss.lower(t.C), loss.upper(t.C));
            slope -= t.sign * a;
            size += std::abs(a);
            curvature += loss.is_curved(free, a) ? loss.inverse_diagonal(t.C) : 0.0;
        }
        if (std::abs(slope) <= 1e-15 * size) {
            break;
        }
        (slope < 0.0 ? low : high) = b;
        double next = b - slope / curvature;
        if (!(next > low && next < high) && low > -infinity && high < infinity) {
            next = 0.5 * (low + high);
        } else if (!(std::abs(next) < infinity)) {
            next = slope < 0.0 ? b + stride : b - stride;
            stride *= 4.0;
        }
        if (next == b || next <= low || next >= high) {
            break;  // as near as numbers are
        }
        b = next;
    }
    return b;
}

// The losses of a hinge or of a loss with a curvature where the bias is best for the terms, and that bias.
struct BestBias {
    double bias;
    double losses;
};

inline BestBias find_best_bias(const Loss& loss, std::vector<BiasTerm>& terms, double guess, double slope) {
    double b = guess;
    if (!loss.is_hinge()) {
        b = best_curved_bias(loss, terms, guess, slope);
    } else if (loss.is_one_sided()) {
        b = best_hinge_bias(terms, slope);
    } else {  // each side of the tube is a hinge
        std::vector<BiasTerm> sides;
        sides.reserve(2 * terms.size());
        for (const BiasTerm& t : terms) {
            sides.push_back({t.position - loss.epsilon, t.C, 1.0});
            sides.push_back({t.position + loss.epsilon, t.C, -1.0});
        }
        b = best_hinge_bias(sides, slope);
    }
    double losses = 0.0;
    for (const BiasTerm& t : terms) {
        losses += loss.primal(t.sign * (t.position - b), t.C);
    }
    return {b, losses};
}

}  // namespace maxmargin
