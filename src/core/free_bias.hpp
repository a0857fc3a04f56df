// A bias outside the regulariser. In the dual it is the multiplier of sum_i y_i a_i = 0; in the primal, for given
// weights, it minimises a convex function of one number. Together: any variables become a certified pair by moving them
// onto the condition (`balance`) and choosing the best bias for their weights (`weights_of`).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "loss.hpp"
#include "problem.hpp"

namespace maxmargin {

// A row as a function of the bias b: its slack is y (position - b).
struct BiasTerm {
    double position;
    double C;
    double y;
};

// Where the losses of a hinge, a sum of C max(0, y (position - b)), are smallest: the slope rises by C at every
// position, from minus the sum of the positive rows' C to the sum of the others'. The middle of the interval if it is
// one. Reorders the terms.
inline double best_hinge_bias(std::span<BiasTerm> terms) {
    double total = 0.0, target = 0.0;
    for (const BiasTerm& t : terms) {
        total += t.C;
        target += t.y > 0.0 ? t.C : 0.0;
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
    const double position = terms.front().position;
    const bool flat = std::abs(below + terms.front().C - target) <= rounding && next < infinity;
    return flat ? 0.5 * (position + next) : position;
}

// The same for a loss with a curvature: the root of a rising, piecewise linear slope. `others` is what rows that are
// not among the terms add to it, whatever b is.
inline double best_curved_bias(const Loss& loss, std::span<const BiasTerm> terms, double guess, double others = 0.0) {
    double b = guess, low = -infinity, high = infinity, stride = 1.0;
    if (loss.lower == 0.0 && others == 0.0) {
        for (const BiasTerm& t : terms) {
            low = t.y > 0.0 ? std::max(low, t.position) : low;
            high = t.y < 0.0 ? std::min(high, t.position) : high;
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
            const double free = t.y * (t.position - b) * loss.inverse_diagonal(t.C);
            const double a = clip(free, loss.lower, loss.upper(t.C));
            slope -= t.y * a;
            size += std::abs(a);
            curvature += a == free && a != loss.lower ? loss.inverse_diagonal(t.C) : 0.0;
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

// The weights of the variables, with the best bias for them if it is free. `w` may hold a first guess of the bias.
template <class Rows>
void weights_of(const BinaryProblem<Rows>& problem, std::vector<double>& w) {
    const double guess = w.empty() ? 0.0 : problem.bias * w.back();
    problem.sum_rows(w);
    if (!problem.free_bias) {
        return;
    }
    std::vector<BiasTerm> terms;
    terms.reserve(problem.size());
    for (std::size_t i = 0; i < problem.size(); ++i) {
        const Variable& v = problem.variables[i];
        if (v.C > 0.0) {
            terms.push_back({v.y - problem.rows.dot(i, w.data()), v.C, v.y});
        }
    }
    const bool hinge = problem.loss.diagonal_times_C == 0.0;
    const double b = hinge ? best_hinge_bias(terms) : best_curved_bias(problem.loss, terms, guess);
    w.back() = b / problem.bias;
}

template <class Rows>
double imbalance(const BinaryProblem<Rows>& problem) {
    double sum = 0.0;
    for (const Variable& v : problem.variables) {
        sum += v.y * v.alpha;
    }
    return sum;
}

// Moves the variables within their bounds to sum_i y_i a_i = target: those strictly between their bounds, whose slack
// is about zero, so that the dual hardly changes; where these have not enough room, all of the class that weighs too
// much. Zero is always reached, another target perhaps not.
template <class Rows>
void set_imbalance(const BinaryProblem<Rows>& problem, double target) {
    const Loss& loss = problem.loss;
    for (int round = 0; round < 3; ++round) {  // more than one for rounding only
        const double sum = imbalance(problem) - target, heavy = sum > 0.0 ? 1.0 : -1.0, excess = std::abs(sum);
        if (excess == 0.0) {
            return;
        }
        if (loss.lower == -infinity) {
            double C = 0.0;
            for (const Variable& v : problem.variables) {
                C += v.C;
            }
            for (Variable& v : problem.variables) {
                v.alpha -= v.y * sum * (v.C / C);
            }
            continue;
        }
        auto room = [&](const Variable& v) {
            const double upper = loss.upper(v.C);
            if (!(v.C > 0.0) || !(v.alpha > loss.lower && v.alpha < upper)) {
                return 0.0;
            }
            return v.y == heavy ? v.alpha : (upper < infinity ? upper - v.alpha : 0.0);
        };
        double between = 0.0, weight = 0.0;
        for (const Variable& v : problem.variables) {
            between += room(v);
            weight += v.y == heavy ? v.alpha : 0.0;
        }
        const bool enough = between > excess;
        for (Variable& v : problem.variables) {
            const double share =
                enough ? excess * (room(v) / between) : (v.y == heavy ? v.alpha * std::min(excess / weight, 1.0) : 0.0);
            if (share > 0.0) {
                v.alpha = clip(v.alpha - heavy * v.y * share, loss.lower, loss.upper(v.C));
            }
        }
    }
}

// The condition of a free bias.
template <class Rows>
void balance(const BinaryProblem<Rows>& problem) {
    if (problem.free_bias) {
        set_imbalance(problem, 0.0);
    }
}

}  // namespace maxmargin
