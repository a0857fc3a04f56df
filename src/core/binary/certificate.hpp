// The primal value of weights in one pass over the rows, and what each row adds to the gap; the dual value of
// variables. Passes are by fixed chunks of rows, in the threads of a team if there is one.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "binary/problem.hpp"
#include "numeric/twofold.hpp"
#include "run/chunks.hpp"

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
                 std::vector<double>& slacks, Team* team = nullptr) {
    slacks.resize(problem.size());
    const Chunks chunks(problem.size(), problem.rows.stored());
    std::vector<Losses> shares(chunks.count());
    problem.with_view([&](const auto& view) {
        chunks.for_each(team, [&](std::size_t chunk, std::size_t begin, std::size_t end) {
            Losses share;
            for (std::size_t i = begin; i < end; ++i) {
                const Variable& v = view.variables[i];
                if (!v.takes_part()) {
                    continue;
                }
                const double z = slacks[i] = view.slack(i, w.data());
                share.sum.add(view.loss.primal(z, v.C()));
                if (is_hidden(i)) {
                    share.hidden_gap += gap_share(view.loss, v, z);
                }
            }
            shares[chunk] = share;
        });
    });
    Losses result;
    for (const Losses& share : shares) {
        result.sum.add(share.sum);
        result.hidden_gap += share.hidden_gap;
    }
    return result;
}

template <class Rows>
double primal_value(const BinaryProblem<Rows>& problem, const std::vector<double>& w, Team* team = nullptr) {
    std::vector<double> slacks;
    const Losses losses = losses_at(problem, w, [](std::size_t) { return false; }, slacks, team);
    return problem.regulariser().value(w) + losses.sum.value();
}

// The dual value of the variables, which must fulfil the condition of a free bias; their sums of rows go to `sums`.
template <class Rows>
double dual_value(const BinaryProblem<Rows>& problem, std::vector<double>& sums, Team* team = nullptr) {
    const std::size_t width = problem.features() + 1;
    const Chunks chunks(problem.size(), problem.rows.stored(), width);
    ChunkSums parts(chunks, width);
    chunks.for_each(team, [&](std::size_t chunk, std::size_t begin, std::size_t end) {
        problem.add_rows(begin, end, parts.of(chunk));
    });
    sums.assign(width, 0.0);
    parts.add_to(sums);
    return problem.dual_terms() - problem.regulariser().conjugate(sums);
}

// How far off the dual value of variables may be whose weights, of length `length`, were carried along for so many
// steps: each rounds the weights and a variable, and the longest row times its variable has the length `longest`.
inline double drift_of_dual(double steps, double length, double longest) {
    const double moved = steps * std::numeric_limits<double>::epsilon() * (length + longest);
    return moved * (length + 0.5 * moved);
}

template <class Rows>
double longest_term(const BinaryProblem<Rows>& problem) {
    const double column = problem.bias.value * problem.bias.value;
    double square = 0.0;
    for (std::size_t i = 0; i < problem.size(); ++i) {
        const double alpha = problem.variables[i].alpha;
        if (alpha != 0.0) {
            square = std::max(square, alpha * alpha * (problem.squared_norm(i) + column));
        }
    }
    return std::sqrt(square);
}

}  // namespace maxmargin
