#include "multiclass/state.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "numeric/twofold.hpp"

namespace maxmargin {
namespace {

template <class Rows>
double exact_primal(MulticlassProblem<Rows>& problem, const std::vector<double>& w) {
    const std::size_t width = problem.width(), constant = problem.rows().features();
    TwofoldSum sum;
    for (const double weight : w) {
        sum.add_product(0.5 * weight, weight);
    }
    std::vector<TwofoldSum> sums(problem.classes());
    std::vector<double> scores(width);
    for (std::size_t i = 0; i < problem.size(); ++i) {
        const MulticlassRow& row = problem.variables().rows[i];
        if (!row.takes_part()) {
            continue;
        }
        std::fill(sums.begin(), sums.end(), TwofoldSum());
        auto add = [&](std::size_t j, double x) {
            for (std::size_t m = 0; m < sums.size(); ++m) {
                sums[m].add_product(x, w[j * width + m]);
            }
        };
        problem.rows().for_each(i, [&](std::size_t j, auto x) { add(j, static_cast<double>(x)); });
        add(constant, problem.bias());
        std::fill(scores.begin(), scores.end(), -infinity);
        // The slacks, beside an own score of one, so that nothing is lost when the loss takes them.
        for (std::size_t m = 0; m < sums.size(); ++m) {
            TwofoldSum slack;
            slack.add(1.0);
            slack.add(sums[m]);
            slack.subtract(sums[row.label]);
            scores[m] = slack.value();
        }
        scores[row.label] = 1.0;
        sum.add(problem.loss(row, scores));
    }
    return sum.value();
}

template <class Rows>
double exact_dual(MulticlassProblem<Rows>& problem) {
    const std::size_t width = problem.width(), constant = problem.rows().features();
    std::vector<TwofoldSum> sums(problem.weights());
    TwofoldSum result;
    for (std::size_t i = 0; i < problem.size(); ++i) {
        const MulticlassRow& row = problem.variables().rows[i];
        TwofoldSum own;
        for (const ClassValue& v : problem.variables().list(i)) {
            own.add(v.value);
        }
        result.add(own.value());
        auto add = [&](std::size_t j, double x) {
            for (const ClassValue& v : problem.variables().list(i)) {
                sums[j * width + v.which].add_product(-v.value, x);
                sums[j * width + row.label].add_product(v.value, x);
            }
        };
        if (row.count > 0) {
            problem.rows().for_each(i, [&](std::size_t j, auto x) { add(j, static_cast<double>(x)); });
            add(constant, problem.bias());
        }
    }
    for (const TwofoldSum& sum : sums) {
        result.add_product(-0.5 * sum.value(), sum.value());
        result.add(-sum.value() * sum.rest());
    }
    return result.value();
}

// About how large the rounding errors of plain sums are; as for two classes, the slope at a kink can be anything up to
// C, and the sums of rows times variables are off by their sizes.
template <class Rows>
double rounding_error(MulticlassProblem<Rows>& problem, const std::vector<double>& sums, const std::vector<double>& w) {
    const double length = 2.0 * std::sqrt(std::max(Regulariser{}.value(w), Regulariser{}.conjugate(sums)));
    const bool worst = problem.formulation() == Formulation::crammer_singer;
    const double others = worst ? 1.0 : static_cast<double>(problem.classes() - 1);
    double error = 0.0, sizes = 0.0;
    for (std::size_t i = 0; i < problem.size(); ++i) {
        const MulticlassRow& row = problem.variables().rows[i];
        const double norm = std::sqrt(row.curvature);
        error += row.C * others * (1.0 + length * norm);
        for (const ClassValue& v : problem.variables().list(i)) {
            sizes += 2.0 * v.value * norm;
        }
    }
    constexpr double rounding = 4.0 * std::numeric_limits<double>::epsilon();
    return rounding * error + 0.5 * (rounding * sizes) * (rounding * sizes);
}

}  // namespace

void MulticlassState::start(std::span<const double> values, std::span<const std::int32_t> which,
                            std::span<const std::int64_t> starts, std::span<const double> weights) {
    if (!weights.empty()) {
        const std::vector<double> w(weights.begin(), weights.end());
        bounds.offer_weights(visit([&](auto& problem) { return problem.primal(w); }), w);
    }
    if (starts.empty()) {
        return;
    }
    assign(values, which, starts);
    visit([&](auto& problem) {
        std::vector<double> w;
        problem.rebuild_weights(w);
        offer_variables(problem.dual(w));
        bounds.offer_weights(problem.primal(w), w);
    });
}

void MulticlassState::assign(std::span<const double> values, std::span<const std::int32_t> which,
                             std::span<const std::int64_t> starts) {
    std::vector<double> all(classes);
    std::vector<ClassValue> list;
    for (std::size_t i = 0; i < variables.rows.size(); ++i) {
        const MulticlassRow& row = variables.rows[i];
        std::fill(all.begin(), all.end(), 0.0);
        for (auto k = static_cast<std::size_t>(starts[i]); k < static_cast<std::size_t>(starts[i + 1]); ++k) {
            all[static_cast<std::size_t>(which[k])] += values[k];
        }
        list.clear();
        double sum = 0.0;
        for (std::uint32_t m = 0; m < classes; ++m) {
            if (m != row.label && all[m] > 0.0 && row.takes_part()) {
                list.push_back({m, std::min(all[m], row.C)});
                sum += list.back().value;
            }
        }
        if (formulation == Formulation::crammer_singer && sum > row.C) {
            for (ClassValue& v : list) {
                v.value *= row.C / sum;
            }
        }
        variables.assign(i, list);
    }
}

void MulticlassState::verify(Team* team) {
    if (bounds.are_exact()) {
        return;
    }
    MulticlassVariables best = bounds.variables();
    std::swap(variables, best);
    bool finite = true;
    visit([&](auto& problem) {
        const std::vector<double>& w = bounds.weights();
        std::vector<double> sums;
        problem.rebuild_weights(sums);
        double dual = problem.dual(sums);
        double primal = bounds.primal_error() == 0.0 ? bounds.primal() : problem.primal(w, team);
        if (!is_harmless(rounding_error(problem, sums, w), primal, dual)) {
            dual = exact_dual(problem);
            primal = exact_primal(problem, w);
        }
        finite = std::isfinite(primal) && std::isfinite(dual);
        if (finite) {
            bounds.correct(primal, dual);
        }
    });
    std::swap(variables, best);
    if (!finite) {
        throw std::invalid_argument("the objective is no longer a finite number: X was changed during the fit");
    }
}

std::vector<double> MulticlassState::sums() {
    std::vector<double> result;
    visit([&](auto& problem) { problem.rebuild_weights(result); });
    return result;
}

}  // namespace maxmargin
