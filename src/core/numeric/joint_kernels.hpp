// A visit of one row by eight problems at once, whose weights lie feature by feature and whose variables lie row by
// row, side by side: eight doubles are one line of the cache. Each of the eight "lanes" gets the same operations in the
// same order, whatever is in the others. joint_kernels.cpp compiles each function for several instruction sets.
#pragma once

#include <cstddef>
#include <cstdint>

#include "numeric/row_entries.hpp"

namespace maxmargin {

inline constexpr std::size_t joint_width = 8;

// What the steps on the variables of a row need. Variables are kept with the sign of their row, beta = sign * alpha.
struct JointRow {
    double upper;      // bound of alpha
    double diagonal;   // D_ii
    double curvature;  // |x_i|^2 + D_ii + that of the bias
};

// What a sweep knows of each lane.
struct alignas(64) JointLanes {
    double bias[joint_width];                          // the weight of the constant column
    double above[joint_width], below[joint_width];     // gradients at a bound beyond which a variable stays there
    double gain[joint_width];                          // growth of the dual
    double gap[joint_width];                           // sum over rows of their share of the gap, each at its visit
    double highest[joint_width], lowest[joint_width];  // projected gradients
};

// The same for all lanes of a descent.
struct JointLoss {
    bool has_lower;    // whether alpha >= 0; else alpha is free
    double column;     // value of the constant column
    double bias_step;  // what a unit of beta adds to its weight
};

enum class JointVisit { hidden, still, moved };

// Exact steps on all variables of a row. `signs` are -1, +1, or 0 where the row takes no part. `hidden`: every variable
// is at a bound and seems to stay there.
template <class Value>
JointVisit joint_visit(const JointLoss& loss, const JointRow& row, const RowEntries<Value>& entries,
                       const std::int8_t* signs, double* beta, double* weights, JointLanes& lanes);

// weights += the row times beta.
template <class Value>
void joint_add(const RowEntries<Value>& entries, const double* beta, double* weights);

// Of a row at given weights: its losses, and its shares of the gaps.
template <class Value>
void joint_losses(const JointLoss& loss, const JointRow& row, const RowEntries<Value>& entries,
                  const std::int8_t* signs, const double* beta, const double* weights, const double* bias,
                  double* losses, double* gaps);

// Of a row at given weights, for a curved loss without upper bounds: the variables that its slacks ask for, its losses,
// what the variables add to the dual values, and the row times the variables.
template <class Value>
void joint_slopes(const JointLoss& loss, const JointRow& row, const RowEntries<Value>& entries,
                  const std::int8_t* signs, const double* weights, const double* bias, double* beta, double* losses,
                  double* terms, double* sums, double* bias_sums);

}  // namespace maxmargin
