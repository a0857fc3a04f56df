// Scores of rows for many classes, whose weights lie feature by feature, `classes` of them for each: scores[c] =
// intercepts[c] + sum_k values[k] * weights[feature(k) * classes + c]. The order of every sum is that of the features,
// so that a row has the same bits alone and among others. score_kernels.cpp compiles each for several instruction sets.
#pragma once

#include <cstddef>

#include "numeric/column_indices.hpp"

namespace maxmargin {

// A sparse row with n stored entries.
template <class Value>
void sparse_scores(const Value* values, ColumnIndices indices, std::size_t n, const double* weights,
                   const double* intercepts, std::size_t classes, double* scores);

// `rows` dense rows of n values, one after the other, and so are their scores.
template <class Value>
void dense_scores(const Value* values, std::size_t rows, std::size_t n, const double* weights, const double* intercepts,
                  std::size_t classes, double* scores);

}  // namespace maxmargin
