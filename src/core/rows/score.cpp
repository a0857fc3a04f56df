#include "rows/score.hpp"

namespace maxmargin {

void score(const AnyRows& any_rows, const double* weights, const double* intercepts, std::size_t classes,
           double* scores) {
    std::visit(
        [&](const auto& rows) {
            const std::size_t features = rows.features();
            for (std::size_t i = 0; i < rows.size(); ++i) {
                for (std::size_t k = 0; k < classes; ++k) {
                    scores[i * classes + k] = rows.dot(i, weights + k * features) + intercepts[k];
                }
            }
        },
        any_rows.variant());
}

}  // namespace maxmargin
