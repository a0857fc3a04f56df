// A plain sweep of the sequential dual method over given rows against given weights, for those who put sweeps together
// themselves: blocks, workers.
#pragma once

#include <span>
#include <vector>

#include "binary/orders.hpp"
#include "multiclass/state.hpp"

namespace maxmargin {

struct ClassSweepResult {
    double gap = 0.0;   // sum of the rows' shares, each at the time of its visit; of sweeps over all classes only
    double gain = 0.0;  // growth of the dual
};

// Steps on the variables of the state, row by row; `weights` change by what the steps stand for. With `listed` only
// the classes that have a variable which is not at its bound are visited.
ClassSweepResult class_sweep(MulticlassState& state, std::span<const RowIndex> schedule, bool listed,
                             std::vector<double>& weights);

}  // namespace maxmargin
