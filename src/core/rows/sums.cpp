#include "rows/sums.hpp"

#include <vector>

namespace maxmargin {

void add_rows(const AnyRows& any_rows, std::span<const double> coefficients, double* sums) {
    const UserRows& rows = any_rows.rows();
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (coefficients[i] != 0.0) {
            rows.axpy(i, coefficients[i], sums);
        }
    }
}

void add_outer_products(const AnyRows& any_rows, std::span<const double> coefficients, double column,
                        SymmetricMatrix& A) {
    const std::size_t last = A.size() - 1;
    std::vector<RowIndex> used;
    std::vector<double> scales;
    for (std::size_t i = 0; i < coefficients.size(); ++i) {
        if (coefficients[i] != 0.0) {
            used.push_back(static_cast<RowIndex>(i));
            scales.push_back(coefficients[i]);
        }
    }
    const UserRows& rows = any_rows.rows();
    rows.add_outers(used, scales.data(), A, 0, last);
    for (std::size_t k = 0; k < used.size(); ++k) {
        rows.axpy(used[k], scales[k] * column, A.row(last));
        A.row(last)[last] += scales[k] * column * column;
    }
}

}  // namespace maxmargin
