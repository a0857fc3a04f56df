#include "cutting_plane/measure_state.hpp"

#include <cmath>
#include <stdexcept>
#include <utility>

#include "cutting_plane/cutting_plane.hpp"
#include "numeric/regulariser.hpp"
#include "numeric/twofold.hpp"
#include "run/reached.hpp"

namespace maxmargin {

MeasureState::MeasureState(const AnyRows& rows, MeasureRisk of_rows, double bias_value)
    : risk(std::move(of_rows)), bias(bias_value), bounds(0.0, {}, {}), rows_(rows) {
    rows.squared_norms();  // finds NaN and infinity
    std::vector<double> zero(rows.features() + 1);
    const double at_zero = primal_of(zero);
    bounds = {at_zero, std::move(zero), {std::vector<double>(rows.size()), 0.0}};
}

double MeasureState::primal_of(const std::vector<double>& w) {
    const std::vector<RowIndex>& taking_part = risk.rows();
    std::vector<double> scores(taking_part.size()), coefficients(taking_part.size());
    const UserRows& rows = rows_.rows();
    for (std::size_t p = 0; p < taking_part.size(); ++p) {
        TwofoldSum sum;
        sum.add_product(bias, w.back());
        rows.for_each(taking_part[p], [&](std::size_t j, auto x) { sum.add_product(static_cast<double>(x), w[j]); });
        scores[p] = sum.value();
    }
    TwofoldSum result;
    result.add(risk.touch(scores.data(), coefficients.data()));
    for (std::size_t p = 0; p < scores.size(); ++p) {
        result.add_product(-coefficients[p], scores[p]);
    }
    for (const double weight : w) {
        result.add_product(0.5 * weight, weight);
    }
    return result.value();
}

void MeasureState::verify() {
    if (bounds.are_exact()) {
        return;
    }
    const double primal = primal_of(bounds.weights());
    const PairVariables& variables = bounds.variables();
    std::vector<TwofoldSum> sums(bounds.weights().size());
    const UserRows& rows = rows_.rows();
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const double a = variables.coefficients[i];
        if (a != 0.0) {
            rows.for_each(i, [&](std::size_t j, auto x) { sums[j].add_product(a, static_cast<double>(x)); });
            sums.back().add_product(a, bias);
        }
    }
    TwofoldSum dual;
    dual.add(variables.sum);
    for (const TwofoldSum& sum : sums) {
        dual.add_product(-0.5 * sum.value(), sum.value());
        dual.add(-sum.value() * sum.rest());
    }
    if (!std::isfinite(primal) || !std::isfinite(dual.value())) {
        throw std::invalid_argument("the objective is no longer a finite number: X was changed during the fit");
    }
    bounds.correct(primal, dual.value());
}

Outcome cut_measure(MeasureState& state, const CuttingOptions& options, const Limits& limits, Monitor& monitor) {
    const std::vector<double> points = std::move(state.points);
    CutStart start;
    start.points = points;
    auto deliver = [&](double primal, const std::vector<double>& weights, Unfolded found) {
        state.bounds.offer_weights(primal, weights, infinity);
        std::vector<double> sums(weights.size());
        const UserRows& rows = state.rows().rows();
        for (std::size_t i = 0; i < rows.size(); ++i) {
            rows.axpy(i, found.coefficients[i], sums.data());
            sums.back() += state.bias * found.coefficients[i];
        }
        state.bounds.offer_variables(found.sum - Regulariser{}.conjugate(sums), [&](PairVariables& best) {
            best = {std::move(found.coefficients), found.sum};
            state.points = std::move(found.points);
        });
        return reached(state, limits.tol, monitor);
    };
    return CuttingPlane(state.rows(), state.bias, state.risk, options, limits, monitor).run(start, deliver);
}

}  // namespace maxmargin
