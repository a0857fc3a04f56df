#include "rows/score.hpp"

namespace maxmargin {

void score(const AnyRows& any_rows, const double* weights, const double* intercepts, std::size_t classes,
           double* scores) {
    std::visit(
        [&](const auto& rows) {
            if (classes != 1) {
                rows.scores(0, rows.size(), weights, intercepts, classes, scores);
                return;
            }
            for (std::size_t i = 0; i < rows.size(); ++i) {
                scores[i] = rows.dot(i, weights) + intercepts[0];
            }
        },
        any_rows.variant());
}

void score(const AnyRows& any_rows, std::span<const std::int64_t> wanted, const double* weights,
           const double* intercepts, std::size_t classes, double* scores) {
    std::visit(
        [&](const auto& rows) {
            for (std::size_t k = 0; k < wanted.size(); ++k) {
                const auto i = static_cast<std::size_t>(wanted[k]);
                if (classes == 1) {
                    scores[k] = rows.dot(i, weights) + intercepts[0];
                } else {
                    rows.scores(i, 1, weights, intercepts, classes, scores + k * classes);
                }
            }
        },
        any_rows.variant());
}

}  // namespace maxmargin
