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

    DualSweep(const BinaryProblem<Rows>& problem, BiasStep bias, double scale = 1.0)
        : problem_(problem), bias_(bias), scale_(scale) {}

    // Work of a sweep over all rows that moves none of them.
    static double pass_cost(const BinaryProblem<Rows>& problem) {
        return static_cast<double>(problem.rows.stored() + row_cost * problem.size());
    }

    template <RowOrder Order>
    SweepResult run(std::span<const RowIndex> schedule, Order& order, double* w, Monitor& monitor) const {
        const Loss loss = problem_.loss;
        const std::size_t last = problem_.features();
        SweepResult result;
        std::size_t work = 0;
        for (std::size_t k = 0; k < schedule.size(); ++k) {
            if (k + start_ahead < schedule.size()) {
                problem_.rows.prefetch_start(schedule[k + start_ahead]);
                __builtin_prefetch(&problem_.variables[schedule[k + start_ahead]], 1);
            }
            if (k + row_ahead < schedule.size()) {
                problem_.rows.prefetch(schedule[k + row_ahead]);
            }
            const std::size_t i = schedule[k];
            Variable& v = problem_.variables[i];
            const double upper = loss.upper(v.C()), diagonal = loss.diagonal(v.C());
            const double z = problem_.slack(i, w);
            const double G = diagonal * v.alpha - z;
            std::size_t cost = problem_.rows.stored(i) + row_cost;
            if constexpr (Order::visits_every_active_row_once) {
                result.gap += gap_share(loss, v, z);
            }
            if (!order.shrinks(i, v, loss.lower, upper, G)) {
                const double curvature =
                    v.curvature + (scale_ - 1.0) * (v.curvature - diagonal) + scale_ * bias_.curvature;
                const double alpha = minimiser(v.alpha, curvature, G, loss.lower, upper);
                const double d = alpha - v.alpha;
                double gain = 0.0;
                if (d != 0.0) {
                    v.alpha = alpha;
                    problem_.rows.axpy(i, scale_ * d * v.sign(), w);
                    w[last] += scale_ * d * v.sign() * bias_.step;
                    gain = -d * (G + 0.5 * curvature * d);
                    result.gain += gain;
                    cost += problem_.rows.stored(i);
                }
                order.gained(i, gain);
            }
            work += cost;
            if (monitor.poll(cost)) {
                break;
            }
        }
        result.work = static_cast<double>(work);
        return result;
    }

  private:
    static constexpr std::size_t row_ahead = 3;
    static constexpr std::size_t start_ahead = 8;

    // The exact solution of (5), eq. 9. A zero row without diagonal has zero curvature and goes to its bound at once.
    static double minimiser(double alpha, double curvature, double G, double lower, double upper) {
        if (curvature > 0.0) {
            return clip(alpha - G / curvature, lower, upper);
        }
        return G < 0.0 ? upper : lower;
    }

    const BinaryProblem<Rows>& problem_;
    BiasStep bias_;
    double scale_;
};

}  // namespace maxmargin
