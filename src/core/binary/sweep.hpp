// A plain sweep over given rows against given weights, for those who put sweeps together themselves: shards, blocks,
// workers.
#pragma once

#include <span>
#include <vector>

#include "binary/dual_sweep.hpp"
#include "binary/state.hpp"

namespace maxmargin {

// Changes `alphas`, and `weights` by the rows of what changed; see DualSweep for the scale. `anchored`, if it is above
// zero, is the curvature s of a bias that is held near an anchor (anchored_bias.hpp).
SweepResult dual_sweep(BinaryState& state, std::span<const RowIndex> schedule, double scale, double anchored,
                       std::vector<double>& alphas, std::vector<double>& weights);

}  // namespace maxmargin
