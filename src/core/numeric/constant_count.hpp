// From a count that is known at run time to one that the compiler knows, so that loops over it are unrolled and their
// sums stay in registers.
#pragma once

#include <cstddef>
#include <type_traits>

#include "numeric/compiler.hpp"

namespace maxmargin {

// Calls body(std::integral_constant<count>) for a count from 1 to `most`; nothing for another one. The body, a lambda,
// must be declared always_inline too.
template <std::size_t most, class Body>
MAXMARGIN_INLINE void with_constant_count(std::size_t count, const Body& body) {
    if constexpr (most > 0) {
        if (count == most) {
            body(std::integral_constant<std::size_t, most>{});
        } else {
            with_constant_count<most - 1>(count, body);
        }
    }
}

}  // namespace maxmargin
