#include "binary/sweep.hpp"

#include <algorithm>
#include <stdexcept>

namespace maxmargin {
namespace {

constexpr double little_gain = 0.1;  // as a share of what the first sweep gained
constexpr double few_rows = 0.5;     // of all, so that sweeps over them cost little

template <class Rows>
DualSweep sweep_of(const BinaryProblem<Rows>& problem, double anchored, double scale) {
    const double column = problem.bias.value, curvature = anchored > 0.0 ? anchored : column * column;
    return {
        problem.rows, problem.variables, problem.loss, column, {anchored > 0.0 ? anchored / column : column, curvature},
        scale};
}

template <class Rows>
void assign_clipped(const BinaryProblem<Rows>& problem, std::span<const double> alphas) {
    for (std::size_t i = 0; i < alphas.size(); ++i) {
        Variable& v = problem.variables[i];
        v.alpha = v.takes_part() ? clip(alphas[i], problem.loss.lower(v.C()), problem.loss.upper(v.C())) : 0.0;
    }
}

}  // namespace

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
    return state.visit([&](const auto& problem) {
        assign_clipped(problem, alphas);
        Visits visits;
        Monitor monitor(infinity, nullptr, nullptr);
        const std::vector<double> before = weights;
        const DualSweep sweep = sweep_of(problem, anchored, scale);
        const SweepResult result = sweep.run(schedule, {}, false, weights.data(), visits, monitor);
        problem.copy_alphas(alphas);
        for (std::size_t j = 0; j < weights.size() && scale != 1.0; ++j) {
            weights[j] = before[j] + (weights[j] - before[j]) / scale;
        }
        return result;
    });
}

LocalResult local_sweeps(BinaryState& state, const LocalSweeps& options, std::span<double> alphas,
                         std::span<double> weights, std::span<bool> moving) {
    if (alphas.size() != state.variables.size() || moving.size() != alphas.size() ||
        weights.size() != state.rows().features() + 1) {
        throw std::invalid_argument("alpha, moving and weights must fit X");
    }
    if (state.bias.free) {
        throw std::invalid_argument("a sweep by itself knows no bias outside the regulariser");
    }
    return state.visit([&](const auto& problem) {
        for (std::size_t i = 0; i < alphas.size(); ++i) {
            problem.variables[i].alpha = problem.variables[i].takes_part() ? alphas[i] : 0.0;
        }
        const DualSweep sweep = sweep_of(problem, options.anchored, 1.0);
        Monitor monitor(infinity, nullptr, nullptr);
        Random random(options.seed);
        Shuffle shuffle(good_mixing(problem.rows), row_bytes(problem.rows));
        std::vector<RowIndex> rows = rows_taking_part(problem.variables), schedule;
        std::fill(moving.begin(), moving.end(), false);
        Visits visits;
        LocalResult result;
        double first = 0.0;
        for (std::size_t k = 0; k <= options.more && !rows.empty(); ++k) {
            problem.copy_to(alphas);
            shuffle.fill(rows, schedule, random);
            const SweepResult now = sweep.run(schedule, {}, false, weights.data(), visits, monitor);
            result.gap = k == 0 ? now.gap : result.gap;
            result.gain += now.gain;
            result.steps += visits.count;
            std::erase_if(rows, [&](RowIndex i) {
                const Variable& v = problem.variables[i];
                const double lower = problem.loss.lower(v.C()), upper = problem.loss.upper(v.C());
                moving[i] = v.alpha != alphas[i] || (v.alpha != 0.0 && v.alpha > lower && v.alpha < upper);
                return !moving[i];
            });
            if (static_cast<double>(rows.size()) > few_rows * static_cast<double>(alphas.size()) ||
                (k > 0 && now.gain <= little_gain * first)) {
                break;
            }
            first = std::max(first, now.gain);
        }
        problem.copy_to(alphas);
        return result;
    });
}

}  // namespace maxmargin
