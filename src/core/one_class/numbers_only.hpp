// Scores that are no finite numbers, of data that were changed during a fit, have no order and cannot be sorted.
#pragma once

#include <stdexcept>

namespace maxmargin {

// Of a score less itself, or of the sum of such differences: zero where all are finite.
inline void require_numbers(double zero) {
    if (zero != 0.0) {
        throw std::invalid_argument("a score is no longer a finite number: X was changed during the fit");
    }
}

}  // namespace maxmargin
