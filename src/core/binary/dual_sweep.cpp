#include "binary/dual_sweep.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "binary/certificate.hpp"
#include "numeric/compiler.hpp"

namespace maxmargin {
namespace {

constexpr std::size_t row_ahead = 3;
constexpr std::size_t start_ahead = 8;

// The exact solution of (5), eq. 9, with a tube that of Ho & Lin 2012. A zero row without diagonal has zero
// curvature and goes to its bound, or inside of the tube to zero, at once.
inline double minimiser(double alpha, double curvature, double G, double epsilon, double lower, double upper) {
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

}  // namespace

SweepResult DualSweep::run(std::span<const RowIndex> schedule, const ShrinkRule& rule, bool with_gains, double* w,
                           Visits& visits, Monitor& monitor) const {
    return rows_.with_view([&](const auto& rows) {
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
    });
}

}  // namespace maxmargin
