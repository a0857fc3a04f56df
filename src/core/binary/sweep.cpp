#include "binary/sweep.hpp"

#include <algorithm>
#include <stdexcept>

namespace maxmargin {

SweepResult dual_sweep(BinaryState& state, std::span<const RowIndex> schedule, double scale, double anchored,
                       std::vector<double>& alphas, std::vector<double>& weights) {
    const bool fits = alphas.size() == state.variables.size() && weights.size() == state.rows().features() + 1;
    auto is_row = [&](RowIndex i) { return i < state.variables.size() && state.variables[i].takes_part(); };
    if (!fits || !std::all_of(schedule.begin(), schedule.end(), is_row)) {
        throw std::invalid_argument("alpha and weights must fit X, and the schedule hold rows of positive weight");
    }
    if (state.bias.free) {
        throw std::invalid_argument("a sweep by itself knows no bias outside the regulariser");
    }
    return state.visit([&]<class Rows>(const BinaryProblem<Rows>& problem) {
        for (std::size_t i = 0; i < alphas.size(); ++i) {
            Variable& v = problem.variables[i];
            v.alpha = v.takes_part() ? clip(alphas[i], problem.loss.lower(v.C()), problem.loss.upper(v.C())) : 0.0;
        }
        Visits visits;
        Monitor monitor(infinity, nullptr, nullptr);
        const double column = problem.bias.value;
        const std::vector<double> before = weights;
        const double curvature = anchored > 0.0 ? anchored : column * column;
        const DualSweep<Rows> sweep(problem.rows, problem.variables, problem.loss, column,
                                    {anchored > 0.0 ? anchored / column : column, curvature}, scale);
        const SweepResult result = sweep.run(schedule, {}, false, weights.data(), visits, monitor);
        problem.copy_alphas(alphas);
        for (std::size_t j = 0; j < weights.size() && scale != 1.0; ++j) {
            weights[j] = before[j] + (weights[j] - before[j]) / scale;
        }
        return result;
    });
}

}  // namespace maxmargin
