// Cutting planes for the problems that have a risk: what the bindings call.
#pragma once

#include "binary/state.hpp"
#include "cutting_plane/ranking_state.hpp"
#include "multiclass/state.hpp"
#include "run/monitor.hpp"

namespace maxmargin {

struct CuttingOptions {
    bool acceleration;  // keep the best iterate, and search the line from there (OCAS)
    bool keep_cuts;     // never drop a cut
    double epsilon;     // above 0: end when no constraint is violated by more, as in the paper
};

// The hinge, with a regularised bias.
Outcome cut_hinge(BinaryState& state, const CuttingOptions& options, const Limits& limits, Monitor& monitor);
// The loss of Crammer and Singer.
Outcome cut_classes(MulticlassState& state, const CuttingOptions& options, const Limits& limits, Monitor& monitor);
Outcome cut_pairs(RankingState& state, const CuttingOptions& options, const Limits& limits, Monitor& monitor);

}  // namespace maxmargin
