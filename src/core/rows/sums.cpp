#include "rows/sums.hpp"

#include <variant>

namespace maxmargin {

void add_rows(const AnyRows& any_rows, std::span<const double> coefficients, double* sums) {
    std::visit(
        [&](const auto& rows) {
            for (std::size_t i = 0; i < rows.size(); ++i) {
                if (coefficients[i] != 0.0) {
                    rows.axpy(i, coefficients[i], sums);
                }
            }
        },
        any_rows.variant());
}

void add_outer_products(const AnyRows& any_rows, std::span<const double> coefficients, double column,
                        SymmetricMatrix& A) {
    const std::size_t last = A.size() - 1;
    std::visit(
        [&](const auto& rows) {
            for (std::size_t i = 0; i < rows.size(); ++i) {
                const double c = coefficients[i];
                if (c != 0.0) {
                    rows.add_outer(i, c, A);
                    rows.axpy(i, c * column, A.row(last));
                    A.row(last)[last] += c * column * column;
                }
            }
        },
        any_rows.variant());
}

}  // namespace maxmargin
