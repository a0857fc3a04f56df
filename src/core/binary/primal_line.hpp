// The lowest point of the primal on the line through two weights whose slacks are known. Iterates of dual methods carry
// the noise of single steps, which the primal feels much more than the dual does; between the best weights so far and
// the next ones there are mostly better ones than either. To find them costs no pass over the data.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "binary/problem.hpp"
#include "numeric/regulariser.hpp"
#include "numeric/simd.hpp"

namespace maxmargin {

class PrimalLine {
  public:
    PrimalLine() = default;

    void forget() { *this = PrimalLine(); }

    // Weights as they are, if they are better.
    void keep(double primal, const std::vector<double>& weights, const std::vector<double>& slacks) {
        if (primal < primal_) {
            set(primal, weights, slacks);
        }
    }

    double primal() const { return primal_; }
    // How far the value may be off, because slacks were mixed instead of computed.
    double error() const { return error_; }
    const std::vector<double>& weights() const { return weights_; }

    // Weights with their slacks and primal value. Afterwards the best are the lowest of the line through the best so
    // far and these.
    void add(double primal, const std::vector<double>& weights, const std::vector<double>& slacks,
             std::span<const Variable> variables, const Loss& loss, const Regulariser& regulariser) {
        if (weights_.empty() || !std::isfinite(primal)) {
            keep(primal, weights, slacks);
            return;
        }
        direction_ = weights;
        dense_axpy(-1.0, weights_.data(), direction_.data(), direction_.size());
        const double first = regulariser.slope(weights_, direction_), second = regulariser.dot(direction_, direction_);
        const Terms terms{slacks_, slacks, variables, loss};
        const double t = lowest(first, second, terms);
        const double value = regulariser.value(weights_) + t * first + 0.5 * t * t * second + terms.losses(t);
        if (value < primal && value < primal_) {
            primal_ = value;
            error_ = std::abs(1.0 - t) * error_ + terms.rounding_error(t);
            dense_axpy(t, direction_.data(), weights_.data(), weights_.size());
            for (std::size_t i = 0; i < slacks_.size(); ++i) {
                slacks_[i] += t * (slacks[i] - slacks_[i]);
            }
        } else if (primal < primal_) {
            set(primal, weights, slacks);
        }
    }

  private:
    static constexpr int most_trials = 30;
    static constexpr double farthest =
        4.0;                             // in distances of the two weights, which may be as close as rounding errors
    static constexpr double flat = 0.1;  // slope at which the search ends, over that at its start

    void set(double primal, const std::vector<double>& weights, const std::vector<double>& slacks) {
        primal_ = primal;
        error_ = 0.0;
        weights_ = weights;
        slacks_ = slacks;
    }

    // The rows along the line: their slacks at 0 and at 1.
    struct Terms {
        const std::vector<double>& from;
        const std::vector<double>& to;
        std::span<const Variable> variables;
        const Loss& loss;

        double slack(std::size_t i, double t) const { return from[i] + t * (to[i] - from[i]); }

        template <class Term>
        double sum(const Term& term) const {
            double result = 0.0;
            for (std::size_t i = 0; i < variables.size(); ++i) {
                result += variables[i].takes_part() ? term(i, variables[i].C()) : 0.0;
            }
            return result;
        }

        double losses(double t) const {
            return sum([&](std::size_t i, double C) { return loss.primal(slack(i, t), C); });
        }
        double slope_of_loss(double z, double C) const {
            if (!loss.is_hinge()) {
                return loss.slope(z, C);
            }
            const double distance = loss.outside(z);
            return distance > 0.0 ? loss.upper(C) : distance < 0.0 || loss.epsilon == 0.0 ? loss.lower(C) : 0.0;
        }
        double slope(double t) const {
            return sum([&](std::size_t i, double C) { return (to[i] - from[i]) * slope_of_loss(slack(i, t), C); });
        }
        // Of mixed slacks, each of which counts by the slope of its loss.
        double rounding_error(double t) const {
            const double sizes = sum([&](std::size_t i, double C) {
                const double slope = loss.is_hinge() ? C : std::abs(loss.slope(slack(i, t), C));
                return slope * ((1.0 + std::abs(t)) * std::abs(from[i]) + std::abs(t * to[i]));
            });
            return 4.0 * std::numeric_limits<double>::epsilon() * sizes;
        }
    };

    // False position between two points of different slope (the Illinois variant), from 0 towards 1 or away from it.
    static double lowest(double first, double second, const Terms& terms) {
        auto slope = [&](double t) { return first + t * second + terms.slope(t); };
        const double start = slope(0.0);
        double left = 0.0, left_slope = start, right = start < 0.0 ? 1.0 : -0.5;
        double right_slope = slope(right);
        for (int trial = 0; trial < most_trials; ++trial) {
            if (std::abs(right_slope) <= flat * std::abs(start)) {
                return right;
            }
            if (left_slope * right_slope > 0.0) {  // not yet far enough
                if (std::abs(right) >= farthest) {
                    return right;
                }
                left = right;
                left_slope = right_slope;
                right *= 2.0;
                right_slope = slope(right);
                continue;
            }
            const double t = right - right_slope * (right - left) / (right_slope - left_slope);
            const double own = slope(t);
            if (own * right_slope < 0.0) {
                left = right;
                left_slope = right_slope;
            } else {
                left_slope *= 0.5;
            }
            right = t;
            right_slope = own;
        }
        return right;
    }

    double primal_ = infinity, error_ = 0.0;
    std::vector<double> weights_, slacks_;
    std::vector<double> direction_;
};

}  // namespace maxmargin
