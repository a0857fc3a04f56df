// The bias of dual coordinate descent. Steps on one variable cannot keep the condition sum_i sign_i a_i = 0 of a free
// bias; and a regularised one is B^2 times that sum, which ties all variables together and makes steps short where the
// constant column B is not small beside the rows. Both are cured by a proximal term: the bias b minimises
//
//     b^2 / (2 B^2) + (b - anchor)^2 / (2 p) - b sum_i sign_i a_i        (the first term only if it is regularised;
//                                                                         its own slope is added to a free one)
//
// so it is s (sum_i sign_i a_i + anchor / p) with s = p B^2 / (p + B^2), or s = p for a free one, and is maintained
// like any other weight. After every epoch the anchor moves to it. Where it comes to rest, b is the bias of the
// problem: for a free one this is the method of multipliers for its condition.
#pragma once

#include <cmath>
#include <span>

#include "binary/loss.hpp"
#include "binary/problem.hpp"

namespace maxmargin {

class AnchoredBias {
  public:
    // A plain weight like all others if that is wanted, or the constant column is small beside the rows, or missing.
    AnchoredBias(std::span<const Variable> variables, const Loss& loss, const Bias& bias, bool wanted)
        : step_(bias.value), curvature_(bias.value * bias.value), slope_(bias.slope) {
        if (!wanted) {
            return;
        }
        double squares = 0.0, C = 0.0, targets = 0.0, count = 0.0;
        for (const Variable& v : variables) {
            if (v.takes_part()) {
                squares += v.curvature - loss.diagonal(v.C());
                C += v.C();
                targets += std::abs(v.target);
                count += 1.0;
            }
        }
        const double column = bias.value * bias.value;
        const double length = squares / count;  // squared, of a typical row
        // Weak anchors leave long steps to the variables, but those of small C need few steps anyway and then wait for
        // the bias.
        // Variables of losses without curvature are as large as C, and so many times C as targets are large count.
        const double scale = loss.is_hinge() && targets > 0.0 ? targets : count;
        const double p = length > 0.0 ? clip(small * scale / C, weakest * length, length) : 1.0;
        if (bias.free) {
            set(p, p, bias.value);
        } else if (p < worthwhile * column) {
            set(p * column / (p + column), p, bias.value);
        }
    }

    bool anchored() const { return carry_ > 0.0; }

    // What one unit of sign_i a_i adds to the bias weight, and the curvature that this adds to a variable.
    double step() const { return step_; }
    double curvature() const { return curvature_; }
    // How much of its anchor the bias keeps.
    double carry() const { return carry_; }

    // From a first anchor, in the place of the bias weight, to the bias weight of the descent.
    void start(std::span<const Variable> variables, double& weight) {
        if (anchored()) {
            double imbalance = -slope_;
            for (const Variable& v : variables) {
                imbalance += v.sign() * v.alpha;
            }
            anchor_ = weight;
            weight = step_ * imbalance + carry_ * anchor_;
        }
    }

    void end_epoch(double& weight) {
        const double moved = weight - anchor_;
        anchor_ = weight;
        weight += carry_ * moved;
    }

  private:
    static constexpr double weakest = 0.03;  // p, in squared lengths of a typical row
    static constexpr double small = 0.05;    // C times p
    static constexpr double worthwhile = 0.2;

    void set(double s, double p, double bias) {
        step_ = s / bias;
        curvature_ = s;
        carry_ = s / p;
    }

    double step_;
    double curvature_;
    double slope_;
    double carry_ = 0.0;  // s / p
    double anchor_ = 0.0;
};

}  // namespace maxmargin
