#include "one_class/state.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "numeric/numbers.hpp"
#include "numeric/simd.hpp"
#include "numeric/twofold.hpp"

namespace maxmargin {
namespace {

// Moves variables to the sum s, all by the same share of the way to the bounds they move to.
void bring_to_sum(std::vector<double>& alphas, const RowWeights& C, double s) {
    for (int round = 0; round < 3; ++round) {  // more than one for rounding only
        TwofoldSum sum, room;
        for (const double alpha : alphas) {
            sum.add(alpha);
        }
        const double missing = s - sum.value();
        for (std::size_t i = 0; i < alphas.size(); ++i) {
            room.add(missing > 0.0 ? C[i] - alphas[i] : alphas[i]);
        }
        if (missing == 0.0 || room.value() <= 0.0) {
            return;
        }
        const double share = std::min(std::abs(missing) / room.value(), 1.0);
        for (std::size_t i = 0; i < alphas.size(); ++i) {
            alphas[i] += missing > 0.0 ? share * (C[i] - alphas[i]) : -share * alphas[i];
            alphas[i] = std::clamp(alphas[i], 0.0, C[i]);
        }
    }
}

}  // namespace

void OneClassState::start(std::span<const double> alphas, std::span<const double> weights) {
    if (!weights.empty()) {
        const std::vector<double> w(weights.begin(), weights.end());
        bounds.offer_weights(primal_of(w), w, infinity);
    }
    if (!alphas.empty()) {
        std::vector<double> own(alphas.begin(), alphas.end());
        for (std::size_t i = 0; i < own.size(); ++i) {
            own[i] = std::clamp(own[i], 0.0, C[i]);
        }
        bring_to_sum(own, C, s);
        bounds.offer_variables(dual_of(own), [&](std::vector<double>& best) { best = own; });
    }
}

std::vector<double> OneClassState::alpha() const {
    if (!bounds.variables().empty()) {
        return bounds.variables();
    }
    double total = 0.0;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
        total += C[i];
    }
    std::vector<double> alphas(rows_.size());
    for (std::size_t i = 0; i < alphas.size(); ++i) {
        alphas[i] = C[i] * (s / total);
    }
    return alphas;
}

double OneClassState::primal_of(const std::vector<double>& w) const {
    TwofoldSum value;
    for (std::size_t j = 0; j + 1 < w.size(); ++j) {
        value.add_product(0.5 * w[j], w[j]);
    }
    const double rho = -w.back();
    value.add_product(-s, rho);
    rows_.rows().with_view([&](const auto& view) {
        for (std::size_t i = 0; i < view.size(); ++i) {
            const double slack = C[i] > 0.0 ? rho - view.dot(i, w.data()) : 0.0;
            if (!(slack <= 0.0)) {
                value.add_product(C[i], slack);
            }
        }
    });
    return value.value();
}

// What is missing of the sum s is not feasible, and counts by the offset.
double OneClassState::dual_of(const std::vector<double>& alphas) const {
    std::vector<TwofoldSum> sums(rows_.features());
    TwofoldSum total, value;
    for (std::size_t i = 0; i < alphas.size(); ++i) {
        if (alphas[i] != 0.0) {
            total.add(alphas[i]);
            rows_.rows().for_each(i, [&](std::size_t j, double x) { sums[j].add_product(alphas[i], x); });
        }
    }
    for (const TwofoldSum& sum : sums) {
        const double rounded = sum.value();
        value.add_product(-0.5 * rounded, rounded);
        value.add(-rounded * sum.rest());
    }
    total.add(-s);
    return value.value() - std::abs(bounds.weights().back() * total.value());
}

// The same by plain sums, whose rounding errors only matter to bounds that are close.
double OneClassState::plain_dual_of(const std::vector<double>& alphas) const {
    std::vector<double> sums(rows_.features() + 1);
    double total = -s;
    rows_.rows().with_view([&](const auto& view) {
        for (std::size_t i = 0; i < alphas.size(); ++i) {
            total += alphas[i];
            if (alphas[i] != 0.0) {
                view.axpy(i, alphas[i], sums.data());
            }
        }
    });
    return -0.5 * dense_dot(sums.data(), sums.data(), sums.size()) - std::abs(bounds.weights().back() * total);
}

void OneClassState::verify() {
    if (bounds.are_exact() && !bounds.variables().empty()) {
        return;
    }
    if (bounds.variables().empty()) {
        bounds.replace_variables(alpha());
    }
    const double primal = primal_of(bounds.weights());
    double dual = plain_dual_of(bounds.variables());
    if (relative_gap(primal, dual) < close_bounds) {
        dual = dual_of(bounds.variables());
    }
    if (!std::isfinite(primal) || !std::isfinite(dual)) {
        throw std::invalid_argument("the objective is no longer a finite number: X was changed during the fit");
    }
    // Zero but for rounding: the origin lies among the rows, and no weights are better than zero.
    if (primal == 0.0 && -dual <= vanishing * s * (vanishing * s) * rows_.mean_squared_norm()) {
        dual = 0.0;
    }
    bounds.correct(primal, dual);
}

}  // namespace maxmargin
