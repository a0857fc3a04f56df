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

#include "binary/certificate.hpp"
#include "binary/orders.hpp"
#include "binary/problem.hpp"
#include "numeric/compiler.hpp"
#include "run/monitor.hpp"

namespace maxmargin {

struct SweepResult {
    double gap = 0.0;   // sum of gap_share, each row's at the time of its visit
    double gain = 0.0;  // growth of the dual
    double work = 0.0;  // in stored values
};

template <RowSource Rows>
class DualSweep {
  public:
    static constexpr std::size_t row_cost = 8;  // what a visit costs beside its stored values, in stored values

    // What a unit of sign_i a_i adds to the bias weight, and the curvature that this adds to a variable.
    struct BiasStep {
        double step;
        double curvature;
    };

    // `column` is the value of the constant column.
    DualSweep(const Rows& rows, std::span<Variable> variables, const Loss& loss, double column, BiasStep bias,
              double scale = 1.0)
        : rows_(rows), variables_(variables), loss_(loss), column_(column), bias_(bias), scale_(scale) {}

    const Rows& rows() const { return rows_; }
    const Loss& loss() const { return loss_; }
    double column() const { return column_; }
    const BiasStep& bias() const { return bias_; }
    double diagonal(std::size_t i) const { return loss_.diagonal(variables_[i].C()); }

    // Work of a sweep over all rows that moves none of them.
    double pass_cost() const { return static_cast<double>(rows_.stored() + row_cost * rows_.size()); }

    SweepResult run(std::span<const RowIndex> schedule, const ShrinkRule& rule, bool with_gains, double* w,
                    Visits& visits, Monitor& monitor) const {
        return rows_.with_view(
            [&](const auto& rows) { return run_over(rows, schedule, rule, with_gains, w, visits, monitor); });
    }

  private:
    static constexpr std::size_t row_ahead = 3;
    static constexpr std::size_t start_ahead = 8;

    template <class View>
    SweepResult run_over(const View& rows, std::span<const RowIndex> schedule, const ShrinkRule& rule, bool with_gains,
                         double* w, Visits& visits, Monitor& monitor) const {
        const Loss loss = loss_;
        const double column = column_, epsilon = loss_.epsilon;
        double* const bias = w + rows_.features();
        SweepResult result;
        std::size_t work = 0, steps = 0;
        double highest = -infinity, lowest = infinity;
        visits.shrunk.clear();
        visits.gains.resize(with_gains ? schedule.size() : 0);
        for (std::size_t k = 0; k < schedule.size(); ++k) {
            if (k + start_ahead < schedule.size()) {
                rows.prefetch_start(schedule[k + start_ahead]);
                MAXMARGIN_PREFETCH_TO_WRITE(&variables_[schedule[k + start_ahead]]);
            }
            if (k + row_ahead < schedule.size()) {
                rows.prefetch(schedule[k + row_ahead]);
            }
            const std::size_t i = schedule[k];
            Variable& v = variables_[i];
            const double C = v.C(), sign = v.sign(), before = v.alpha;
            const double lower = loss.lower(C), upper = loss.upper(C), diagonal = loss.diagonal(C);
            const double z = v.target - sign * (rows.dot(i, w) + column * *bias);
            const double G = diagonal * before - z;
            const std::size_t stored = rows.stored(i);
            std::size_t cost = stored + row_cost;
            result.gap += gap_share(loss, v, z);
            // The gradients of larger and of smaller variables, which differ where the tube makes a kink.
            const double rising = before < 0.0 ? G - epsilon : G + epsilon;
            const double falling = before > 0.0 ? G + epsilon : G - epsilon;
            double violation = before < 0.0 ? falling : rising;  // the projected gradient, eq. 8
            bool shrinks = false;
            if (before <= lower) {
                shrinks = rising > rule.above;
                violation = std::min(rising, 0.0);
            } else if (before >= upper) {
                shrinks = falling < rule.below;
                violation = std::max(falling, 0.0);
            } else if (before == 0.0 && epsilon > 0.0) {
                shrinks = rising > rule.above && falling < rule.below;
                violation = rising < 0.0 ? rising : std::max(falling, 0.0);
            }
            double gain = 0.0;
            if (shrinks) {
                visits.shrunk.push_back(static_cast<RowIndex>(i));
            } else {
                highest = std::max(highest, violation);
                lowest = std::min(lowest, violation);
                const double curvature =
                    v.curvature + (scale_ - 1.0) * (v.curvature - diagonal) + scale_ * bias_.curvature;
                const double alpha = minimiser(before, curvature, G, epsilon, lower, upper);
                const double d = alpha - before;
                if (d != 0.0) {
                    v.alpha = alpha;
                    rows.axpy(i, scale_ * d * sign, w);
                    *bias += scale_ * d * sign * bias_.step;
                    gain = -d * (G + 0.5 * curvature * d) - epsilon * (std::abs(alpha) - std::abs(before));
                    result.gain += gain;
                    cost += stored;
                    ++steps;
                }
            }
            if (with_gains) {
                visits.gains[k] = gain;
            }
            work += cost;
            if (monitor.poll(cost)) {
                visits.gains.resize(with_gains ? k + 1 : 0);
                break;
            }
        }
        visits.count = steps;
        visits.highest = highest;
        visits.lowest = lowest;
        result.work = static_cast<double>(work);
        return result;
    }

    // The exact solution of (5), eq. 9, with a tube that of Ho & Lin 2012. A zero row without diagonal has zero
    // curvature and goes to its bound, or inside of the tube to zero, at once.
    static double minimiser(double alpha, double curvature, double G, double epsilon, double lower, double upper) {
        if (curvature > 0.0) {
            const double free = alpha - G / curvature;
            if (epsilon == 0.0) {
                return clip(free, lower, upper);
            }
            const double most = epsilon / curvature;
            return clip(free - clip(free, -most, most), lower, upper);
        }
        return G < -epsilon ? upper : G > epsilon || epsilon == 0.0 ? lower : 0.0;
    }

    const Rows& rows_;
    std::span<Variable> variables_;
    Loss loss_;
    double column_;
    BiasStep bias_;
    double scale_;
};

}  // namespace maxmargin
