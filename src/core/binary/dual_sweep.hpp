// One sweep of dual coordinate descent (Algorithm 1 of Hsieh et al.): visit a schedule of rows and take an exact step
// on the variable of each against the weights at hand. It knows nothing of certificates or of when to end; certified
// descent, shards and Newton's last polish are loops around it.
//
// `scale` multiplies the quadratic term, |change of the weights|^2 / 2: shards whose changes are added up must take
// shorter steps (sigma' of CoCoA+, Ma et al. 2015). So a step moves the weights by `scale` times its row, and what the
// sweep moved them by in all is `scale` times the change that its steps stand for.
#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "binary/orders.hpp"
#include "binary/problem.hpp"
#include "rows/swept_rows.hpp"
#include "run/monitor.hpp"

namespace maxmargin {

struct SweepResult {
    double gap = 0.0;   // sum of gap_share, each row's at the time of its visit
    double gain = 0.0;  // growth of the dual
    double work = 0.0;  // in stored values
};

class DualSweep {
  public:
    static constexpr std::size_t row_cost = 8;  // what a visit costs beside its stored values, in stored values

    // What a unit of sign_i a_i adds to the bias weight, and the curvature that this adds to a variable.
    struct BiasStep {
        double step;
        double curvature;
    };

    // `column` is the value of the constant column.
    DualSweep(SweptRows rows, std::span<Variable> variables, const Loss& loss, double column, BiasStep bias,
              double scale = 1.0)
        : rows_(std::move(rows)), variables_(variables), loss_(loss), column_(column), bias_(bias), scale_(scale) {}

    const SweptRows& rows() const { return rows_; }
    const Loss& loss() const { return loss_; }
    double column() const { return column_; }
    const BiasStep& bias() const { return bias_; }
    double diagonal(std::size_t i) const { return loss_.diagonal(variables_[i].C()); }

    // Work of a sweep over all rows that moves none of them.
    double pass_cost() const { return static_cast<double>(rows_.stored() + row_cost * rows_.size()); }

    SweepResult run(std::span<const RowIndex> schedule, const ShrinkRule& rule, bool with_gains, double* w,
                    Visits& visits, Monitor& monitor) const;

  private:
    SweptRows rows_;
    std::span<Variable> variables_;
    Loss loss_;
    double column_;
    BiasStep bias_;
    double scale_;
};

}  // namespace maxmargin
