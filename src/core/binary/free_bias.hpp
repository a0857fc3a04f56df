// A bias outside the regulariser. In the dual it is the multiplier of sum_i sign_i a_i = 0; in the primal, for given
// weights, it minimises a convex function of one number. So any variables get a dual value by moving them onto the
// condition (`balance`), and any weights their best primal value by the search for that bias (bias_search.hpp).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "binary/bias_search.hpp"
#include "binary/loss.hpp"
#include "binary/problem.hpp"

namespace maxmargin {

// Gives `w` the bias that is best for its other weights, whether it is regularised or not. Returns the losses there.
template <class Rows>
double set_best_bias(const BinaryProblem<Rows>& problem, std::vector<double>& w) {
    std::vector<BiasTerm> terms;
    terms.reserve(problem.size());
    for (std::size_t i = 0; i < problem.size(); ++i) {
        const Variable& v = problem.variables[i];
        if (v.takes_part()) {
            terms.push_back({v.sign() * v.target - problem.rows.dot(i, w.data()), v.C(), v.sign()});
        }
    }
    const BestBias best = find_best_bias(problem.loss, terms, problem.bias.value * w.back(), problem.bias.slope);
    w.back() = best.bias / problem.bias.value;
    return best.losses;
}

// Moves all variables by the same share of the way to the bounds that are against the heavy side.
template <class Rows>
void fill(const BinaryProblem<Rows>& problem, double heavy, double excess) {
    auto way = [&](const Variable& v) {
        const Loss& loss = problem.loss;
        return !v.takes_part() ? 0.0 : v.sign() == heavy ? v.alpha - loss.lower(v.C()) : loss.upper(v.C()) - v.alpha;
    };
    double ways = 0.0;
    for (const Variable& v : problem.variables) {
        ways += way(v);
    }
    for (Variable& v : problem.variables) {
        if (v.takes_part() && ways > 0.0 && ways < infinity) {
            const double moved = v.alpha - heavy * v.sign() * way(v) * std::min(excess / ways, 1.0);
            v.alpha = clip(moved, problem.loss.lower(v.C()), problem.loss.upper(v.C()));
        }
    }
}

// Moves the variables within their bounds to sum_i sign_i a_i = 0, or the slope of the bias, the condition of a free
// bias: those strictly between their bounds, whose slack is about zero or at the edge of the tube, so that the dual
// hardly changes; where these have not enough room, all that weigh too much.
template <class Rows>
void balance(const BinaryProblem<Rows>& problem) {
    const Loss& loss = problem.loss;
    for (int round = 0; round < 3; ++round) {  // more than one for rounding only
        const double sum = problem.imbalance(), heavy = sum > 0.0 ? 1.0 : -1.0, excess = std::abs(sum);
        if (excess == 0.0) {
            return;
        }
        if (loss.lower_per_C == -infinity && loss.epsilon == 0.0) {
            double C = 0.0;
            for (const Variable& v : problem.variables) {
                C += v.C();
            }
            for (Variable& v : problem.variables) {
                v.alpha -= v.sign() * sum * (v.C() / C);
            }
            continue;
        }
        auto room = [&](const Variable& v) {
            const double upper = loss.upper(v.C());
            const double lower = loss.lower(v.C()), alpha = v.alpha;
            const bool falls = v.sign() == heavy;
            if (!v.takes_part() || !(alpha > lower && alpha < upper) || (alpha == 0.0 && loss.epsilon > 0.0)) {
                return 0.0;
            }
            if (loss.epsilon > 0.0 && (alpha > 0.0) == falls) {
                return std::abs(alpha);  // at zero the dual has a kink
            }
            const double end = falls ? alpha - lower : upper - alpha;
            return end < infinity ? end : loss.is_one_sided() ? 0.0 : std::abs(alpha);
        };
        auto weight_of = [&](const Variable& v) { return std::max(heavy * v.sign() * v.alpha, 0.0); };
        double between = 0.0, weight = 0.0;
        for (const Variable& v : problem.variables) {
            between += room(v);
            weight += weight_of(v);
        }
        const bool enough = between > excess;
        if (!enough && weight == 0.0) {
            fill(problem, heavy, excess);
            continue;
        }
        for (Variable& v : problem.variables) {
            const double share = enough ? excess * (room(v) / between) : weight_of(v) * std::min(excess / weight, 1.0);
            if (share > 0.0) {
                v.alpha = clip(v.alpha - heavy * v.sign() * share, loss.lower(v.C()), loss.upper(v.C()));
            }
        }
    }
}

}  // namespace maxmargin
