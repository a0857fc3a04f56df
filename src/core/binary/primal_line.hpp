// The lowest point of the primal on the line through two weights whose slacks are known. Iterates of dual methods carry
// the noise of single steps, which the primal feels much more than the dual does; between the best weights so far and
// the next ones there are mostly better ones than either. To find them costs no pass over the data.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "binary/problem.hpp"
#include "numeric/regulariser.hpp"
#include "numeric/simd.hpp"
#include "run/chunks.hpp"

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
    // far and these. Loops over rows are shared by the threads of a team, if there is one.
    void add(double primal, const std::vector<double>& weights, const std::vector<double>& slacks,
             std::span<const Variable> variables, const Loss& loss, const Regulariser& regulariser, Team* team) {
        if (weights_.empty() || !std::isfinite(primal)) {
            keep(primal, weights, slacks);
            return;
        }
        direction_ = weights;
        dense_axpy(-1.0, weights_.data(), direction_.data(), direction_.size());
        const double first = regulariser.slope(weights_, direction_), second = regulariser.dot(direction_, direction_);
        const Terms terms(slacks_, slacks, variables, loss, team);
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
    static constexpr std::size_t work_of_term = 4;  // in stored values
    static constexpr double farthest =
        4.0;  // in distances of the two weights, which may be as close as rounding errors
    static constexpr double room_for_rounding = 1e-9;  // of a slack
    static constexpr double flat = 0.1;                // slope at which the search ends, over that at its start

    void set(double primal, const std::vector<double>& weights, const std::vector<double>& slacks) {
        primal_ = primal;
        error_ = 0.0;
        weights_ = weights;
        slacks_ = slacks;
    }

    // The rows along the line: their slacks at 0 and at 1. Those that have no loss as far as the search may go, mostly
    // the larger part near the end, are looked at once.
    struct Terms {
        const std::vector<double>& from;
        const std::vector<double>& to;
        std::span<const Variable> variables;
        const Loss& loss;
        Team* team;
        Chunks chunks;
        std::vector<std::vector<RowIndex>> others;  // of each chunk
        bool listed = false;

        Terms(const std::vector<double>& slacks_at_0, const std::vector<double>& slacks_at_1,
              std::span<const Variable> of_rows, const Loss& of_slacks, Team* threads)
            : from(slacks_at_0),
              to(slacks_at_1),
              variables(of_rows),
              loss(of_slacks),
              team(threads),
              chunks(of_rows.size(), work_of_term * of_rows.size()),
              others(chunks.count()) {
            const auto count = [this](std::size_t begin, std::size_t end) {
                std::size_t result = 0;
                for (std::size_t i = begin; i < end; ++i) {
                    result += matters(i) ? 1 : 0;
                }
                return result;
            };
            listed = 2 * chunks.sum<std::size_t>(team, count) <= variables.size();
            if (listed) {
                chunks.for_each(team, [&](std::size_t chunk, std::size_t begin, std::size_t end) {
                    others[chunk].reserve(count(begin, end));
                    for (std::size_t i = begin; i < end; ++i) {
                        if (matters(i)) {
                            others[chunk].push_back(static_cast<RowIndex>(i));
                        }
                    }
                });
            }
        }

        // Slopes of losses do not fall: where they are zero at both ends of a range, with room for rounding, they are
        // so in all of it.
        bool matters(std::size_t i) const {
            const double far = farthest * std::abs(to[i] - from[i]);
            const double room = far + room_for_rounding * (std::abs(from[i]) + far);
            const double C = variables[i].C();
            return variables[i].takes_part() &&
                   !(slope_of_loss(from[i] - room, C) == 0.0 && slope_of_loss(from[i] + room, C) == 0.0);
        }

        double slack(std::size_t i, double t) const { return from[i] + t * (to[i] - from[i]); }

        template <class Term>
        double sum(const Term& term) const {
            if (!listed) {
                return sum_of_all(term);
            }
            std::vector<double> parts(chunks.count());
            chunks.for_each(team, [&](std::size_t chunk, std::size_t, std::size_t) {
                double result = 0.0;
                for (const RowIndex i : others[chunk]) {
                    result += term(i, variables[i].C());
                }
                parts[chunk] = result;
            });
            return std::accumulate(parts.begin(), parts.end(), 0.0);
        }
        template <class Term>
        double sum_of_all(const Term& term) const {
            return chunks.sum<double>(team, [&](std::size_t begin, std::size_t end) {
                double result = 0.0;
                for (std::size_t i = begin; i < end; ++i) {
                    result += variables[i].takes_part() ? term(i, variables[i].C()) : 0.0;
                }
                return result;
            });
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
            const double sizes = sum_of_all([&](std::size_t i, double C) {
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
