#include "rows/score.hpp"

namespace maxmargin {

void score(const AnyRows& any_rows, const double* weights, const double* intercepts, std::size_t classes,
           double* scores) {
    const UserRows& rows = any_rows.rows();
    if (classes != 1) {
        rows.scores(0, rows.size(), weights, intercepts, classes, scores);
        return;
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
        scores[i] = rows.dot(i, weights) + intercepts[0];
    }
}

}  // namespace maxmargin
