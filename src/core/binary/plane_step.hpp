// A step of a primal method in the plane of its last two moves. Sweeps over single weights are slow where only many
// weights together can move; after a sweep forward and back, which is a symmetric preconditioner, the minimum over the
// plane of this move and the one before it makes them a method of conjugate gradients. Slacks are known along both
// moves, so a step costs no pass over the data.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "binary/problem.hpp"
#include "numeric/simd.hpp"

namespace maxmargin {

// A point, and how far it moved since.
struct Move {
    std::vector<double> weights, slacks;

    bool empty() const { return weights.empty(); }
};

template <RowSource Rows>
class PlaneStep {
  public:
    explicit PlaneStep(const BinaryProblem<Rows>& problem) : problem_(problem) {}

    void begin(const std::vector<double>& w, const std::vector<double>& slack) {
        weights_ = w;
        slacks_ = slack;
    }

    // From the end of a sweep to the minimum over the plane, if that is lower.
    void take(std::vector<double>& w, std::vector<double>& slack) {
        Move now{difference(w, weights_), difference(slack, slacks_)};
        if (!before_.empty()) {
            improve(now, w, slack);
        }
        before_ = {difference(w, weights_), difference(slack, slacks_)};
    }

  private:
    static constexpr int most_halvings = 6;

    static std::vector<double> difference(const std::vector<double>& a, const std::vector<double>& b) {
        std::vector<double> result = a;
        dense_axpy(-1.0, b.data(), result.data(), result.size());
        return result;
    }

    double objective(const std::vector<double>& w, const std::vector<double>& slack) const {
        double losses = 0.0;
        for (std::size_t i = 0; i < slack.size(); ++i) {
            const Variable& v = problem_.variables[i];
            losses += v.takes_part() ? problem_.loss.primal(slack[i], v.C()) : 0.0;
        }
        return problem_.regulariser().value(w) + losses;
    }

    // One Newton step in two variables, halved until the objective falls.
    void improve(const Move& now, std::vector<double>& w, std::vector<double>& slack) const {
        const Regulariser regulariser = problem_.regulariser();
        double g0 = regulariser.slope(w, now.weights), g1 = regulariser.slope(w, before_.weights);
        double a = regulariser.dot(now.weights, now.weights), c = regulariser.dot(before_.weights, before_.weights);
        double b = regulariser.dot(now.weights, before_.weights);
        const Loss& loss = problem_.loss;
        for (std::size_t i = 0; i < slack.size(); ++i) {
            const Variable& v = problem_.variables[i];
            if (!v.takes_part()) {
                continue;
            }
            const double inverse = loss.inverse_diagonal(v.C()), free = loss.outside(slack[i]) * inverse;
            const double alpha = clip(free, loss.lower(v.C()), infinity);
            const double z0 = now.slacks[i], z1 = before_.slacks[i];
            g0 += alpha * z0;
            g1 += alpha * z1;
            if (loss.is_curved(free, alpha)) {
                a += inverse * z0 * z0;
                b += inverse * z0 * z1;
                c += inverse * z1 * z1;
            }
        }
        const double determinant = a * c - b * b;
        if (!(determinant > 1e-12 * a * c)) {
            return;
        }
        const double t0 = (b * g1 - c * g0) / determinant, t1 = (b * g0 - a * g1) / determinant;
        const double start = objective(w, slack);
        double t = 1.0;
        for (int halving = 0; halving < most_halvings; ++halving, t *= 0.5) {
            std::vector<double> moved = w, slacks = slack;
            dense_axpy(t * t0, now.weights.data(), moved.data(), moved.size());
            dense_axpy(t * t1, before_.weights.data(), moved.data(), moved.size());
            dense_axpy(t * t0, now.slacks.data(), slacks.data(), slacks.size());
            dense_axpy(t * t1, before_.slacks.data(), slacks.data(), slacks.size());
            if (objective(moved, slacks) < start) {
                w = std::move(moved);
                slack = std::move(slacks);
                return;
            }
        }
    }

    const BinaryProblem<Rows>& problem_;
    std::vector<double> weights_, slacks_;  // where the sweep began
    Move before_;
};

}  // namespace maxmargin
