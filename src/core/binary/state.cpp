#include "binary/state.hpp"

#include <cmath>
#include <limits>
#include <stdexcept>

#include "binary/certificate.hpp"
#include "binary/free_bias.hpp"
#include "numeric/twofold.hpp"

namespace maxmargin {
namespace {

// The share of the tolerance that is a small gap, and errors that are not seen in a value.
constexpr double share_of_tol = 1e-2, unseen = 1e-10;
// Of both values, by how much no rounding puts the dual above the primal one.
constexpr double impossible = 1e-3;
constexpr std::size_t cheap = 5'000;  // stored values

// How far the slack of a row is outside of the tube, with its sign.
template <class Rows>
double exact_distance(const BinaryProblem<Rows>& problem, std::size_t i, const std::vector<double>& w) {
    TwofoldSum sum;
    sum.add(problem.variables[i].target);
    const double sign = problem.variables[i].sign();
    problem.rows.for_each(i, [&](std::size_t j, auto x) { sum.add_product(-sign * static_cast<double>(x), w[j]); });
    sum.add_product(-sign * problem.bias.value, w.back());
    const double slack = sum.value(), edge = std::copysign(problem.loss.epsilon, slack);
    sum.add(-edge);
    const double distance = sum.value();
    return problem.loss.epsilon > 0.0 && std::signbit(distance) != std::signbit(slack) ? 0.0 : distance;
}

template <class Rows>
double exact_primal(const BinaryProblem<Rows>& problem, const std::vector<double>& w) {
    Loss without_tube = problem.loss;
    without_tube.epsilon = 0.0;
    TwofoldSum sum;
    for (std::size_t j = 0; j < w.size() - (problem.bias.free ? 1 : 0); ++j) {
        sum.add_product(0.5 * w[j], w[j]);
    }
    sum.add_product(problem.regulariser().last_slope, w.back());
    for (std::size_t i = 0; i < problem.size(); ++i) {
        const Variable& v = problem.variables[i];
        if (v.takes_part()) {
            sum.add(without_tube.primal(exact_distance(problem, i, w), v.C()));
        }
    }
    return sum.value();
}

// The square of a sum of rows, with the sum known to twice the digits.
template <class Rows>
double exact_dual(const BinaryProblem<Rows>& problem) {
    std::vector<TwofoldSum> sums(problem.features() + 1);
    TwofoldSum result;
    for (std::size_t i = 0; i < problem.size(); ++i) {
        const Variable& v = problem.variables[i];
        if (v.alpha == 0.0) {
            continue;
        }
        result.add_product(v.target, v.alpha);
        result.add_product(-problem.loss.epsilon, std::abs(v.alpha));
        result.add_product(-0.5 * problem.loss.diagonal(v.C()) * v.alpha, v.alpha);
        problem.rows.for_each(
            i, [&](std::size_t j, auto x) { sums[j].add_product(v.sign() * v.alpha, static_cast<double>(x)); });
        sums.back().add_product(v.sign() * v.alpha, problem.bias.value);
    }
    for (std::size_t j = 0; j < sums.size() - (problem.bias.free ? 1 : 0); ++j) {
        const double value = sums[j].value();
        result.add_product(-0.5 * value, value);
        result.add(-value * sums[j].rest());
    }
    return result.value();
}

// About how large the rounding errors of plain sums are. The slack of a row is off by epsilon times the sizes of what
// it is the difference of, and counts by the slope of the loss there: at a kink of the hinge this can be anything up to
// C. `length` and `bias` are bounds of the weights, of those of the primal and of the dual value. The sum of the rows
// times `alphas` is off by epsilon times their sizes, which counts by its length, as above, and by its own square.
template <class Rows>
double rounding_error(const BinaryProblem<Rows>& problem, const std::vector<double>& alphas, double length, double bias,
                      Team* team) {
    constexpr double epsilon = std::numeric_limits<double>::epsilon();
    struct Sums {
        double errors = 0.0, sizes = 0.0;
        Sums& operator+=(const Sums& other) {
            errors += other.errors;
            sizes += other.sizes;
            return *this;
        }
    };
    const auto part = [&](std::size_t begin, std::size_t end) {
        Sums sums;
        for (std::size_t i = begin; i < end; ++i) {
            const Variable& v = problem.variables[i];
            if (v.takes_part()) {
                const double norm = std::sqrt(std::max(problem.squared_norm(i), 0.0)), alpha = std::abs(alphas[i]);
                const double slack = 4.0 * epsilon * (std::abs(v.target) + bias + length * norm);
                const double slope =
                    problem.loss.is_hinge() ? v.C() : alpha + slack * problem.loss.inverse_diagonal(v.C());
                sums.errors += slope * slack;
                sums.sizes += alpha * (norm + std::abs(problem.bias.value));
            }
        }
        return sums;
    };
    const Chunks chunks(problem.size(), BinaryProblem<Rows>::work_of_variable * problem.size());
    const Sums sums = chunks.sum<Sums>(team, part);
    const double off = 4.0 * epsilon * sums.sizes;
    return sums.errors + 0.5 * off * off;
}

}  // namespace

void BinaryState::start(std::span<const double> alphas, std::span<const double> weights,
                        const std::optional<KnownValues>& values) {
    double size = 0.0, moved = 0.0;  // of the variables, and by how much they were out of bounds
    for (std::size_t i = 0; i < alphas.size(); ++i) {
        Variable& v = variables[i];
        v.alpha = v.takes_part() ? clip(alphas[i], loss.lower(v.C()), loss.upper(v.C())) : 0.0;
        size += std::abs(alphas[i]);
        moved += std::abs(v.alpha - alphas[i]);
    }
    constexpr double rounding = 16 * std::numeric_limits<double>::epsilon();
    if (values && !alphas.empty() && !weights.empty() && !bias.free && moved <= rounding * size) {
        const double error = values->error + rounding * (std::abs(values->primal) + std::abs(values->dual));
        bounds.offer_weights(values->primal, weights, error);
        visit([&](const auto& problem) { offer_variables(values->dual, problem, error); });
        return;
    }
    if (!weights.empty()) {
        const std::vector<double> w(weights.begin(), weights.end());
        bounds.offer_weights(visit([&](const auto& problem) { return primal_value(problem, w); }), w);
    }
    if (alphas.empty()) {
        return;
    }
    visit([&](const auto& problem) {
        if (bias.free) {
            balance(problem);
        }
        std::vector<double> w;
        const double dual = dual_value(problem, w);
        offer_variables(dual, problem);
        if (!weights.empty()) {
            return;  // known weights are mostly better than those of variables that were scaled or clipped
        }
        const double losses = bias.free ? set_best_bias(problem, w) : 0.0;
        bounds.offer_weights(bias.free ? problem.regulariser().value(w) + losses : primal_value(problem, w), w);
    });
}

void BinaryState::verify(Team* team, double tol) {
    if (bounds.are_exact()) {
        return;
    }
    const double small_gap = std::max(smallest_gap, share_of_tol * tol);
    auto length_of = [](const std::vector<double>& w) {
        return std::sqrt(dense_dot(w.data(), w.data(), w.size() - 1));
    };
    const double offered_error = bounds.primal_error() + bounds.dual_error();
    const bool seen = offered_error > unseen * std::abs(bounds.primal());
    const bool small = visit([](const auto& problem) { return problem.rows.stored() <= cheap; });
    if (!bias.free && !seen && !small) {
        // Values of which it is known how far they are off need no new pass, unless that can be seen.
        const double primal = bounds.primal() + bounds.primal_error(), dual = bounds.dual() - bounds.dual_error();
        // |w|^2 <= 2 P and |w - w(alpha)|^2 <= 2 (P - D).
        const double length = 2.0 * std::sqrt(2.0 * std::max(primal, 0.0)), constant = std::abs(bias.value) * length;
        const double error = visit(
            [&](const auto& problem) { return rounding_error(problem, bounds.variables(), length, constant, team); });
        // Bounds that contradict each other, or an error below zero, come from rows that have changed.
        const bool possible = dual >= 0.0 && offered_error >= 0.0 && primal >= dual - (error + offered_error);
        if (possible && is_harmless(error + offered_error, primal, dual, small_gap)) {
            bounds.correct(primal, dual);
            return;
        }
    }
    visit([&](const auto& problem) {
        const std::vector<double> before = problem.alphas();
        problem.assign(bounds.variables());
        if (bias.free) {
            balance(problem);
        }
        std::vector<double> sums;
        const std::vector<double>& w = bounds.weights();
        if (bias.free) {
            std::vector<double> best = bounds.weights();
            const double losses = set_best_bias(problem, best), value = problem.regulariser().value(best) + losses;
            bounds.replace_weights(value, std::move(best));
        }
        double dual = dual_value(problem, sums, team);
        double primal = bounds.primal_error() == 0.0 || bias.free ? bounds.primal() : primal_value(problem, w, team);
        const double sizes = std::max(std::abs(w.back()), std::abs(sums.back()));
        const double error = rounding_error(problem, bounds.variables(), std::max(length_of(w), length_of(sums)),
                                            std::abs(bias.value) * sizes, team);
        if (!is_harmless(error, primal, dual, small_gap)) {
            dual = exact_dual(problem);
            primal = exact_primal(problem, w);
        }
        if (!std::isfinite(primal) || !std::isfinite(dual)) {
            problem.assign(before);
            throw std::invalid_argument("the objective is no longer a finite number: X was changed during the fit");
        }
        if (dual - primal > impossible * std::max(std::abs(primal), std::abs(dual))) {
            problem.assign(before);
            throw std::invalid_argument("the dual value is above the primal value: X was changed during the fit");
        }
        if (bias.free) {
            // What is left of the imbalance is not feasible, and counts by the bias.
            dual -= std::abs(bias.value * w.back() * problem.imbalance());
            bounds.replace_variables(problem.alphas());
        }
        bounds.correct(primal, dual);
        problem.assign(before);
    });
}

}  // namespace maxmargin
