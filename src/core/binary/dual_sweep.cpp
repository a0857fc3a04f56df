#include "binary/dual_sweep.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "binary/dual_step.hpp"
#include "numeric/compiler.hpp"

namespace maxmargin {
namespace {

constexpr std::size_t row_ahead = 3;
constexpr std::size_t start_ahead = 8;

}  // namespace

SweepResult DualSweep::run(std::span<const RowIndex> schedule, const ShrinkRule& rule, bool with_gains, double* w,
                           Visits& visits, Monitor& monitor) const {
    return rows_.with_view([&](const auto& rows) {
        const Loss loss = loss_;
        const double column = column_;
        double* const bias = w + rows_.features();
        SweepResult result;
        std::size_t work = 0, steps = 0;
        double highest = -infinity, lowest = infinity;
        visits.shrunk.clear();
        visits.still.assign(schedule.size(), 0);
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
            const double score = rows.dot(i, w) + column * *bias;
            const DualStep step = step_on(loss, v, score, rule, [this](const Variable& of, double diagonal) {
                return of.curvature + (scale_ - 1.0) * (of.curvature - diagonal) + scale_ * bias_.curvature;
            });
            const std::size_t stored = rows.stored(i);
            std::size_t cost = stored + row_cost;
            result.gap += step.gap_share;
            if (step.shrinks) {
                visits.shrunk.push_back(static_cast<RowIndex>(i));
            } else {
                highest = std::max(highest, step.violation);
                lowest = std::min(lowest, step.violation);
                if (step.change != 0.0) {
                    v.alpha = step.alpha;
                    const double change = scale_ * step.change * v.sign();
                    rows.axpy(i, change, w);
                    *bias += change * bias_.step;
                    result.gain += step.gain;
                    cost += stored;
                    ++steps;
                } else {
                    visits.still[k] = 1;
                }
            }
            if (with_gains) {
                visits.gains[k] = step.gain;
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
