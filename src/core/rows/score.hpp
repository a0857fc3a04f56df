// Scores of rows, for predictions.
#pragma once

#include <cstddef>

#include "rows/any_rows.hpp"

namespace maxmargin {

// scores[i * classes + k] = w_k . x_i + intercept_k, with the weights of all classes of a feature side by side.
// Rows are scored in the threads of a team, if there is one.
void score(const AnyRows& rows, const double* weights, const double* intercepts, std::size_t classes, double* scores,
           Team* team = nullptr);

}  // namespace maxmargin
