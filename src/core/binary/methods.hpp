// The methods for binary problems, for rows of any type: what the bindings call. Each starts from the best bounds of
// the state, goes on until they are within the tolerance or a limit is met, and leaves better ones.
#pragma once

#include "binary/state.hpp"
#include "run/monitor.hpp"

namespace maxmargin {

enum class OrderName { cyclic, permuted, shuffled, uniform, adaptive };

struct DescentOptions {
    OrderName order;
    bool shrinking;
    bool resting;    // whether rows that do not change are visited less often (rests.hpp), in the permuted orders
    bool averaging;  // whether means of iterates are tried, where the order wanders
    bool anchoring;  // of the bias (anchored_bias.hpp)
    bool plane;      // whether epochs are followed by a step in a plane (dual_plane.hpp), certificates by one on a line
    bool pack;       // whether sweeps run on a packed copy of sparse rows
    std::size_t parts;  // of a sweep that several threads share (team_sweep.hpp); 0: as it suits the rows
    double epsilon;     // above 0: end, and take shrunk rows back, by rule (17) of the paper
};

struct PegasosOptions {
    bool averaging;   // of iterates, since the last power of two of epochs
    bool projection;  // onto the ball that holds the optimum
};

Outcome dual_coordinate_descent(BinaryState& state, const DescentOptions& options, const Limits& limits,
                                Monitor& monitor);
Outcome newton(BinaryState& state, const Limits& limits, Monitor& monitor);
// `plane`: sweeps forward and back, each pair followed by a step in the plane of the last two moves (plane_step.hpp).
Outcome primal_coordinate_descent(BinaryState& state, bool plane, const Limits& limits, Monitor& monitor);
Outcome pegasos(BinaryState& state, const PegasosOptions& options, const Limits& limits, Monitor& monitor);

}  // namespace maxmargin
