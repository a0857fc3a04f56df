// Whether a state's bounds are within the tolerance, and still are when they are verified: the one test that ends a
// fit.
#pragma once

#include "run/monitor.hpp"

namespace maxmargin {

template <class State>
bool reached(State& state, double tol, Monitor& monitor) {
    if (state.bounds.gap() > tol) {
        return false;
    }
    const Monitor::Checking checking(monitor);
    if constexpr (requires { state.verify(monitor.team(), tol); }) {
        state.verify(monitor.team(), tol);
    } else if constexpr (requires { state.verify(monitor.team()); }) {
        state.verify(monitor.team());
    } else {
        state.verify();
    }
    return state.bounds.gap() <= tol;
}

}  // namespace maxmargin
