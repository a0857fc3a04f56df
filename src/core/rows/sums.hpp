// Sums over rows, each times a number of its own: what is streamed over blocks is put together from these.
#pragma once

#include <span>

#include "numeric/cholesky.hpp"
#include "rows/any_rows.hpp"

namespace maxmargin {

// sums += sum_i c_i x_i
void add_rows(const AnyRows& rows, std::span<const double> coefficients, double* sums);

// A += sum_i c_i x_i x_i', lower triangle, of rows with a constant column of this value as their last entry.
void add_outer_products(const AnyRows& rows, std::span<const double> coefficients, double column, SymmetricMatrix& A);

}  // namespace maxmargin
