// Products of one row with the weights of many classes, which lie feature by feature: `width` of them for each, a
// multiple of `class_block`, unused ones zero. So one pass over a row serves all classes. class_kernels.cpp compiles
// each for several instruction sets, for float and double values.
#pragma once

#include <cstddef>
#include <cstdint>

#include "numeric/column_indices.hpp"

namespace maxmargin {

inline constexpr std::size_t class_block = 4;
inline std::size_t class_width(std::size_t classes) {
    return (classes + class_block - 1) / class_block * class_block;
}

// For a sparse row with n stored entries, and for a dense one, which needs no indices:
// scores += sum_k values[k] * (the weights of feature indices[k]).
template <class Value>
void class_scores(const Value* values, ColumnIndices indices, std::size_t n, const double* weights, std::size_t width,
                  double* scores);
template <class Value>
void class_scores(const Value* values, std::size_t n, const double* weights, std::size_t width, double* scores);

// The same for some classes only, scores[c] += sum_k values[k] * weights[indices[k] * width + classes[c]].
template <class Value>
void some_class_scores(const Value* values, ColumnIndices indices, std::size_t n, const double* weights,
                       std::size_t width, const std::uint32_t* classes, std::size_t count, double* scores);
template <class Value>
void some_class_scores(const Value* values, std::size_t n, const double* weights, std::size_t width,
                       const std::uint32_t* classes, std::size_t count, double* scores);

// And back: weights[indices[k] * width + classes[c]] += values[k] * changes[c], for classes that are all different.
template <class Value>
void add_to_classes(const Value* values, ColumnIndices indices, std::size_t n, const std::uint32_t* classes,
                    const double* changes, std::size_t count, double* weights, std::size_t width);
template <class Value>
void add_to_classes(const Value* values, std::size_t n, const std::uint32_t* classes, const double* changes,
                    std::size_t count, double* weights, std::size_t width);

// Of whole blocks of scores: the largest, and the sum of max(0, score + shift).
double largest_score(const double* scores, std::size_t width);
double sum_above(const double* scores, std::size_t width, double shift);

}  // namespace maxmargin
