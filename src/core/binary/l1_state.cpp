#include "binary/l1_state.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "binary/certificate.hpp"
#include "binary/free_bias.hpp"

namespace maxmargin {
namespace {

// The losses at weights, with every score summed to twice the digits if so wanted.
template <class Rows>
double l1_losses(const BinaryProblem<Rows>& problem, const std::vector<double>& w, bool exactly) {
    TwofoldSum sum;
    for (std::size_t i = 0; i < problem.size(); ++i) {
        const Variable& v = problem.variables[i];
        if (!v.takes_part()) {
            continue;
        }
        TwofoldSum slack;
        if (exactly) {
            slack.add(v.target);
            problem.rows.for_each(
                i, [&](std::size_t j, auto x) { slack.add_product(-v.sign() * static_cast<double>(x), w[j]); });
            slack.add_product(-v.sign() * problem.bias.value, w.back());
        } else {
            slack.add(problem.slack(i, w.data()));
        }
        sum.add(problem.loss.primal(slack.value(), v.C()));
    }
    return sum.value();
}

// How far plain sums of the slacks may put the losses off.
template <class Rows>
double l1_rounding_error(const BinaryProblem<Rows>& problem, const std::vector<double>& w) {
    const double length = std::sqrt(dense_dot(w.data(), w.data(), w.size() - 1));
    const double constant = std::abs(problem.bias.value * w.back());
    double error = 0.0;
    for (const Variable& v : problem.variables) {
        if (v.takes_part()) {
            const double slack = 4.0 * std::numeric_limits<double>::epsilon() *
                                 (std::abs(v.target) + constant + length * std::sqrt(v.curvature));
            const double slope =
                problem.loss.is_hinge() ? v.C() : std::abs(v.alpha) + slack * problem.loss.inverse_diagonal(v.C());
            error += slope * slack;
        }
    }
    return error;
}

}  // namespace

void L1State::start(std::span<const double> alphas, std::span<const double> weights) {
    visit([&](const auto& problem) {
        if (!weights.empty() || bias.free) {
            std::vector<double> w(weights.begin(), weights.end());
            w.resize(problem.features() + 1);
            const double losses = bias.free ? set_best_bias(problem, w) : l1_losses(problem, w, false);
            offer_weights(w, losses);
        }
        if (!alphas.empty()) {
            for (std::size_t i = 0; i < variables.size(); ++i) {
                Variable& v = variables[i];
                v.alpha = v.takes_part() ? clip(alphas[i], loss.lower(v.C()), loss.upper(v.C())) : 0.0;
            }
            if (bias.free) {
                balance(problem);
            }
            std::vector<double> sums;
            problem.sum_rows(sums);
            offer_variables(problem, sums);
        }
    });
}

void L1State::verify() {
    if (bounds.are_exact()) {
        return;
    }
    visit([&](const auto& problem) {
        const std::vector<double> before = problem.alphas();
        problem.assign(bounds.variables());
        std::vector<double> sums;
        if (bias.free) {
            balance(problem);
        }
        problem.sum_rows(sums);
        const double largest = regulariser().dual_norm(sums);
        if (largest > 1.0) {  // by the rounding errors of the factor
            for (Variable& v : variables) {
                v.alpha /= largest;
            }
        }
        const std::vector<double>& w = bounds.weights();
        double dual = problem.dual_terms(), losses = l1_losses(problem, w, false);
        const double length = regulariser().value(w), primal = length + losses, error = l1_rounding_error(problem, w);
        if (!is_harmless(error, primal, dual)) {
            losses = l1_losses(problem, w, true);
        }
        if (!std::isfinite(losses) || !std::isfinite(dual)) {
            problem.assign(before);
            throw std::invalid_argument("the objective is no longer a finite number: X was changed during the fit");
        }
        if (bias.free) {
            // What is left of the imbalance is not feasible, and counts by the bias.
            dual -= std::abs(bias.value * w.back() * problem.imbalance());
        }
        bounds.replace_variables(problem.alphas());
        bounds.correct(length + losses, dual);
        problem.assign(before);
    });
}

}  // namespace maxmargin
