// Dual coordinate descent on up to eight binary problems over the same rows: one class against the rest for several
// classes, or several labels. A visit of a row steps on its variables of all problems, so that the row is read once for
// all of them, and four problems at a time go through one instruction (joint_kernels.hpp).
//
// A row is shrunk when all its variables are. Each problem has its own certificate and leaves when it has reached the
// tolerance, or for a method of its own when it has had its share of epochs.
#pragma once

#include <span>
#include <vector>

#include "binary/state.hpp"
#include "run/monitor.hpp"

namespace maxmargin {

// A problem and who hears of it.
struct JointProblem {
    BinaryState& state;
    Monitor& monitor;
};

// The problems must share their rows, loss, bias (not a free one) and, where a row takes part, its C; targets are 1. A
// problem that has not reached the tolerance after limits.max_iter epochs ends with Exit::budget. `pack` tells whether
// sweeps run on a packed copy of sparse rows.
std::vector<Outcome> joint_descent(std::span<const JointProblem> problems, bool pack, const Limits& limits);

}  // namespace maxmargin
