#include "multiclass/sweep.hpp"

#include <algorithm>
#include <stdexcept>

namespace maxmargin {

ClassSweepResult class_sweep(MulticlassState& state, std::span<const RowIndex> schedule, bool listed,
                             std::vector<double>& weights) {
    constexpr std::size_t row_ahead = 6, start_ahead = 16;
    auto is_row = [&](RowIndex i) { return i < state.variables.rows.size() && state.variables.rows[i].takes_part(); };
    return state.visit([&](auto& problem) {
        if (weights.size() != problem.weights() || !std::all_of(schedule.begin(), schedule.end(), is_row)) {
            throw std::invalid_argument("weights must fit X, and the schedule hold rows of positive weight");
        }
        ClassSweepResult result;
        for (std::size_t k = 0; k < schedule.size(); ++k) {
            if (k + start_ahead < schedule.size()) {
                problem.prefetch_start(schedule[k + start_ahead]);
            }
            if (k + row_ahead < schedule.size()) {
                problem.prefetch(schedule[k + row_ahead]);
            }
            const std::size_t i = schedule[k];
            const Visit visit = listed ? problem.visit_listed(i, weights.data()) : problem.visit(i, weights.data());
            result.gap += visit.gap;
            result.gain += visit.gain;
        }
        return result;
    });
}

}  // namespace maxmargin
