// The exact primal and dual value of an iterate in one sequential pass, and their relative gap.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "problem.hpp"

namespace maxmargin {

struct Certificate {
    double primal = infinity;
    double dual = -infinity;
    double hidden_gap = 0.0;  // the part of primal - dual that rows outside the active set contribute

    double gap() const { return (primal - dual) / std::max(std::abs(primal), std::numeric_limits<double>::min()); }
};

// What a row adds to primal - dual when w = sum y_i a_i x_i. Never negative (Fenchel-Young).
inline double gap_share(const Loss& loss, const Variable& v, double z) {
    return loss.primal(z, v.C) + 0.5 * loss.diagonal(v.C) * v.alpha * v.alpha - v.alpha * z;
}

// `w` must be the weights of the variables, which must fulfil the condition of a free bias; with another bias the
// primal is right, and the caller has to correct the dual. `is_hidden(i)` tells whether row i is outside the active
// set; rows of weight zero take no part.
template <class Rows, class IsHidden>
Certificate certify(const BinaryProblem<Rows>& problem, const std::vector<double>& w, IsHidden is_hidden) {
    double losses = 0.0, dual_terms = 0.0;
    Certificate result;
    for (std::size_t i = 0; i < problem.size(); ++i) {
        const Variable& v = problem.variables[i];
        if (v.C == 0.0) {
            continue;
        }
        const double z = problem.slack(i, w.data());
        losses += problem.loss.primal(z, v.C);
        dual_terms += v.alpha - 0.5 * problem.loss.diagonal(v.C) * v.alpha * v.alpha;
        if (is_hidden(i)) {
            result.hidden_gap += gap_share(problem.loss, v, z);
        }
    }
    const double norm = problem.squared_norm(w);
    result.primal = 0.5 * norm + losses;
    result.dual = dual_terms - 0.5 * norm;
    return result;
}

template <class Rows>
Certificate certify(const BinaryProblem<Rows>& problem, const std::vector<double>& w) {
    return certify(problem, w, [](std::size_t) { return false; });
}

}  // namespace maxmargin
