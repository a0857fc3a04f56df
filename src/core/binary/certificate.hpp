// The primal value of weights in one sequential pass over the rows, and what each row adds to the gap.
#pragma once

#include <cstddef>
#include <vector>

#include "binary/problem.hpp"
#include "numeric/twofold.hpp"

namespace maxmargin {

// What a row adds to primal - dual when w is the sum of the rows. Never negative (Fenchel-Young).
inline double gap_share(const Loss& loss, const Variable& v, double z) {
    return loss.primal(z, v.C()) - loss.dual(v.alpha, z, v.C());
}

struct Losses {
    TwofoldSum sum;           // of millions of rows
    double hidden_gap = 0.0;  // the part of primal - dual that rows outside the active set contribute
};

// `is_hidden(i)` tells whether row i is outside the active set; rows of weight zero take no part. The slacks of the
// others go to `slacks`.
template <class Rows, class IsHidden>
Losses losses_at(const BinaryProblem<Rows>& problem, const std::vector<double>& w, IsHidden is_hidden,
                 std::vector<double>& slacks) {
    Losses result;
    slacks.resize(problem.size());
    problem.with_view([&](const auto& view) {
        for (std::size_t i = 0; i < view.size(); ++i) {
            const Variable& v = view.variables[i];
            if (!v.takes_part()) {
                continue;
            }
            const double z = slacks[i] = view.slack(i, w.data());
            result.sum.add(view.loss.primal(z, v.C()));
            if (is_hidden(i)) {
                result.hidden_gap += gap_share(view.loss, v, z);
            }
        }
    });
    return result;
}

template <class Rows>
double primal_value(const BinaryProblem<Rows>& problem, const std::vector<double>& w) {
    std::vector<double> slacks;
    const Losses losses = losses_at(problem, w, [](std::size_t) { return false; }, slacks);
    return problem.regulariser().value(w) + losses.sum.value();
}

// The dual value of the variables, which must fulfil the condition of a free bias; their sums of rows go to `sums`.
template <class Rows>
double dual_value(const BinaryProblem<Rows>& problem, std::vector<double>& sums) {
    problem.sum_rows(sums);
    return problem.dual_terms() - problem.regulariser().conjugate(sums);
}

}  // namespace maxmargin
