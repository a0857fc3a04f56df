// Scores of rows, for predictions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "rows/any_rows.hpp"

namespace maxmargin {

// scores[i * classes + k] = w_k . x_i + intercept_k, with the weights of all classes of a feature side by side.
// Rows are scored in the threads of a team, if there is one.
void score(const AnyRows& rows, const double* weights, const double* intercepts, std::size_t classes, double* scores,
           Team* team = nullptr);

// The same for some rows, by number; each row has the same bits as above.
void score(const AnyRows& rows, std::span<const std::int64_t> wanted, const double* weights, const double* intercepts,
           std::size_t classes, double* scores);

}  // namespace maxmargin
