// A problem with a performance measure while it is being solved: its risk, and the best bounds so far.
#pragma once

#include <vector>

#include "cutting_plane/measure_risk.hpp"
#include "cutting_plane/methods.hpp"
#include "cutting_plane/ranking_state.hpp"
#include "rows/any_rows.hpp"
#include "run/bounds.hpp"

namespace maxmargin {

class MeasureState {
  public:
    MeasureState(const AnyRows& rows, MeasureRisk of_rows, double bias_value);

    MeasureState(const MeasureState&) = delete;
    MeasureState& operator=(const MeasureState&) = delete;

    // As in BinaryState.
    void verify();
    const AnyRows& rows() const { return rows_; }

    MeasureRisk risk;
    double bias;
    Bounds<PairVariables> bounds;  // sums over cuts: the coefficients of rows, with their signs, and the offset
    std::vector<double> points;    // where cuts touch the risk: those to start with, then those in use

  private:
    double primal_of(const std::vector<double>& w);

    const AnyRows& rows_;
};

Outcome cut_measure(MeasureState& state, const CuttingOptions& options, const Limits& limits, Monitor& monitor);

}  // namespace maxmargin
