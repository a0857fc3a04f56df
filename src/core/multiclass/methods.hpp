// The methods for several classes at once, for rows of any type: what the bindings call. Each starts from the best
// bounds of the state, goes on until they are within the tolerance or a limit is met, and leaves better ones.
#pragma once

#include "multiclass/state.hpp"
#include "run/monitor.hpp"

namespace maxmargin {

struct SequentialDualOptions {
    bool adaptive;       // shrunk loops by adaptive frequencies instead of random permutations
    bool shrinking;      // loops over rows and classes that are not at a bound
    double most_effort;  // of such loops, in full ones
    double little_gain;  // of such a loop, compared with the first of them, to go back to full ones; 0 for never
};

Outcome sequential_dual_method(MulticlassState& state, const SequentialDualOptions& options, const Limits& limits,
                               Monitor& monitor);
// For Crammer-Singer only.
Outcome exponentiated_gradient(MulticlassState& state, const Limits& limits, Monitor& monitor);
// For few weights in all; where rounding keeps it from going on it ends with Exit::budget.
Outcome multiclass_newton(MulticlassState& state, const Limits& limits, Monitor& monitor);

}  // namespace maxmargin
