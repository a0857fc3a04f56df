// The method for problems with |w|_1: what the bindings call.
#pragma once

#include "binary/l1_state.hpp"
#include "run/monitor.hpp"

namespace maxmargin {

struct WorkingSetOptions {
    bool screening;  // whether features that cannot be part of the solution are set aside for good
};

Outcome working_sets(L1State& state, const WorkingSetOptions& options, const Limits& limits, Monitor& monitor);

}  // namespace maxmargin
