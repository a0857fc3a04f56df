#include "rows/score.hpp"

#include "run/chunks.hpp"

namespace maxmargin {

void score(const AnyRows& any_rows, const double* weights, const double* intercepts, std::size_t classes,
           double* scores, Team* team) {
    const UserRows& rows = any_rows.rows();
    const Chunks chunks(rows.size(), rows.stored() * classes);
    chunks.for_each(team, [&](std::size_t, std::size_t begin, std::size_t end) {
        if (classes != 1) {
            rows.scores(begin, end - begin, weights, intercepts, classes, scores + begin * classes);
            return;
        }
        for (std::size_t i = begin; i < end; ++i) {
            scores[i] = rows.dot(i, weights) + intercepts[0];
        }
    });
}

void score(const AnyRows& any_rows, std::span<const std::int64_t> wanted, const double* weights,
           const double* intercepts, std::size_t classes, double* scores) {
    const UserRows& rows = any_rows.rows();
    for (std::size_t k = 0; k < wanted.size(); ++k) {
        const auto i = static_cast<std::size_t>(wanted[k]);
        if (classes == 1) {
            scores[k] = rows.dot(i, weights) + intercepts[0];
        } else {
            rows.scores(i, 1, weights, intercepts, classes, scores + k * classes);
        }
    }
}

}  // namespace maxmargin
