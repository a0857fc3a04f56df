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

}  // namespace maxmargin
