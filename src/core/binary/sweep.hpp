// A plain sweep over given rows against given weights, for those who put sweeps together themselves: shards, blocks,
// workers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "binary/dual_sweep.hpp"
#include "binary/state.hpp"

namespace maxmargin {

// Changes `alphas`, and `weights` by the rows of what changed; see DualSweep for the scale. `anchored`, if it is above
// zero, is the curvature s of a bias that is held near an anchor (anchored_bias.hpp).
SweepResult dual_sweep(BinaryState& state, std::span<const RowIndex> schedule, double scale, double anchored,
                       std::vector<double>& alphas, std::vector<double>& weights);

// Sweeps over rows that are in memory for a short while, in random orders: one over all of them, and up to `more` over
// those that move or may, until one gains little beside the first.
struct LocalSweeps {
    std::size_t more;
    double anchored;
    std::uint64_t seed;
};

struct LocalResult {
    double gain = 0.0;
    double gap = 0.0;       // as the first sweep saw it
    std::size_t steps = 0;  // each of which rounds the weights of its row
};

// Changes `alphas` and `weights` in place; `moving` tells which rows moved in the last sweep, or lie between bounds.
// Variables may lie beyond their bounds, as long as the weights are those that they add up to: the step of their row
// takes them back.
LocalResult local_sweeps(BinaryState& state, const LocalSweeps& options, std::span<double> alphas,
                         std::span<double> weights, std::span<bool> moving);

}  // namespace maxmargin
