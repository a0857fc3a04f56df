// The loops where a wider instruction set pays: dense rows, whole index arrays, lists of pairs. simd.cpp compiles each
// for several instruction sets and the loader picks one at run time.
#pragma once

#include <cstddef>
#include <cstdint>

namespace maxmargin {

double dense_dot(const float* x, const double* w, std::size_t n);
double dense_dot(const double* x, const double* w, std::size_t n);
double dense_squared_norm(const float* x, std::size_t n);
double dense_squared_norm(const double* x, std::size_t n);
void dense_axpy(double a, const float* x, double* w, std::size_t n);
void dense_axpy(double a, const double* x, double* w, std::size_t n);

// The sums of the squares of every `stride`-th of the rows whose values begin where `starts` says.
void sparse_squared_norms(const float* x, const std::int32_t* starts, std::size_t stride, std::size_t rows,
                          double* squares);
void sparse_squared_norms(const float* x, const std::int64_t* starts, std::size_t stride, std::size_t rows,
                          double* squares);
void sparse_squared_norms(const double* x, const std::int32_t* starts, std::size_t stride, std::size_t rows,
                          double* squares);
void sparse_squared_norms(const double* x, const std::int64_t* starts, std::size_t stride, std::size_t rows,
                          double* squares);

// w += a[0] x[0] + ... + a[3] x[3], so that w is read and written once for four rows.
void dense_axpy_four(const double* a, const float* const* x, double* w, std::size_t n);
void dense_axpy_four(const double* a, const double* const* x, double* w, std::size_t n);

// products[4 * c + r] = the product of row r of four with row c of two, over the first n entries. The rows of each lie
// `stride` apart.
void dense_products(const double* four, const double* two, std::size_t stride, std::size_t n, double* products);

// The sum of the weights of those scores that are within reach, score - scores[k] < 1; `weight` is taken off their net.
double reach(double score, double weight, const double* scores, const double* weights, double* net, std::size_t n);

// Of a sparse column with entries x[k] in distinct rows: the sum of r[rows[k]] * x[k] over rows with r > lower, and the
// sum of the squares x[k]^2 there.
double column_slope(const std::uint32_t* rows, const double* x, std::size_t n, const double* r, double lower,
                    double& squares);
// r[rows[k]] -= d * x[k], and the same sum afterwards.
double column_move(const std::uint32_t* rows, const double* x, std::size_t n, double d, double* r, double lower);

// The largest of n indices read as unsigned numbers.
std::uint64_t largest_index(const std::int32_t* indices, std::size_t n);
std::uint64_t largest_index(const std::int64_t* indices, std::size_t n);

// How many of n indices are not larger than the one before.
std::size_t count_falls(const std::int32_t* indices, std::size_t n);
std::size_t count_falls(const std::int64_t* indices, std::size_t n);

// How often two characters occur in a text.
void count_characters(const char* text, std::size_t n, char a, char b, std::size_t& count_a, std::size_t& count_b);

}  // namespace maxmargin
