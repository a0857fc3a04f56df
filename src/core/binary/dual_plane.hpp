// The exact step of dual coordinate descent in a plane. Single steps are slow where only many variables together can
// move. After an epoch, with `s` the change that it made and `p` the step taken after the epoch before, the dual is
// maximised over alpha + t1 s + t2 p, a system of two equations, and the variables are clipped to their bounds. It is
// kept where the dual comes out higher than after the epoch alone. As in the method of conjugate gradients, what one
// step has gained is not lost in the next.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "binary/dual_sweep.hpp"
#include "binary/problem.hpp"
#include "numeric/simd.hpp"

namespace maxmargin {

class DualPlane {
  public:
    DualPlane(const DualSweep& sweep, std::span<Variable> variables) : sweep_(sweep), variables_(variables) {
        double count = 0.0, targets = 0.0;
        for (const Variable& v : variables_) {
            if (v.takes_part()) {
                hardness_ += v.C() * (v.curvature - sweep.loss().diagonal(v.C()));
                count += 1.0;
                targets += std::abs(v.target);
            }
        }
        cost_ = weight_cost * static_cast<double>(sweep.rows().features()) +
                variable_cost * static_cast<double>(variables_.size());
        // Without a curvature of the losses, what counts is the bound C of the variables beside targets.
        const double scale = sweep.loss().is_hinge() && targets > 0.0 ? targets : count;
        hardness_ = scale > 0.0 ? hardness_ / scale : 0.0;
        waiting_ = hardness_ <= easy ? first : 0;
    }

    // The mean of C times curvature.
    double hardness() const { return hardness_; }

    // Before an epoch, given the work of the one before: shrinking may have made epochs so cheap that a step, which
    // looks at all variables, costs more. Then it comes after some of them.
    void begin(const std::vector<double>& w, double work) {
        work_ += work;
        planned_ = waiting_ == 0 && (cost_ <= expensive * work || cost_ <= cheap * work_);
        waiting_ = std::max(waiting_ - 1, 0);
        if (planned_) {
            work_ = 0.0;
            worthwhile_ = 1.0 + std::max(least_gain, cost_ / work);
            weights_ = w;
            copy_alphas(alphas_);
        }
    }

    // After an epoch that gained `gain` in so many steps: the step, if it is better. Returns what has been gained in
    // all; `steps` then says how many single steps would have rounded the weights as much.
    double take(std::vector<double>& w, double gain, double& steps) {
        if (!planned_ || !(gain > 0.0)) {
            return gain;
        }
        change_ = w;
        dense_axpy(-1.0, weights_.data(), change_.data(), change_.size());
        Lengths t = best_lengths();
        // Along directions that hardly move the weights the maximum is far away, or nowhere.
        const bool far = !(std::abs(t.now) <= farthest_ && std::abs(t.before) <= farthest_);
        if (far) {
            t = {t.now > 0.0 ? farthest_ : 1.0, 0.0};
        }
        const double total = move(t, w);
        const bool better = total > gain, worth = total > worthwhile_ * gain;
        steps += steps_of_plane;
        if (better) {
            steps = std::max(std::abs(t.now), 1.0) * steps + std::abs(t.before) * steps_before_;
            for (std::size_t i = 0; i < variables_.size(); ++i) {
                variables_[i].alpha = moved(i, t);
            }
        } else {
            w = weights_;
            dense_axpy(1.0, change_.data(), w.data(), w.size());
        }
        farthest_ = far && worth ? std::min(farther * farthest_, at_most) : farthest;
        patience_ = worth ? 1 : std::min(2 * patience_, longest_patience);
        waiting_ = worth ? 0 : patience_ - 1;
        steps_before_ = steps;
        remember(w);
        return better ? total : gain;
    }

  private:
    static constexpr double least_gain = 0.05;                       // over that of the epoch alone
    static constexpr double weight_cost = 2.0, variable_cost = 3.0;  // of a step, in stored values of an epoch
    static constexpr double expensive = 0.5, cheap = 0.1;  // shares of an epoch, and of all since the last step
    static constexpr double steps_of_plane = 64.0;         // that round weights as much as one in a plane does
    static constexpr int longest_patience = 8;
    // In lengths of the steps; how much farther the next one may go where the last one paid; and at the most.
    static constexpr double farthest = 8.0, farther = 4.0, at_most = 1e6;
    static constexpr double easy = 2.0;  // mean C times curvature, with which a problem is nearly solved
    static constexpr int first = 3;      // after so many epochs

    // How far to go along the change of the epoch, and along the step before.
    struct Lengths {
        double now, before;
    };

    void copy_alphas(std::vector<double>& alphas) const {
        alphas.resize(variables_.size());
        for (std::size_t i = 0; i < alphas.size(); ++i) {
            alphas[i] = variables_[i].alpha;
        }
    }

    static double dot(const std::vector<double>& a, const std::vector<double>& b) {
        return dense_dot(a.data(), b.data(), a.size() - 1);
    }

    double change(std::size_t i) const { return variables_[i].alpha - alphas_[i]; }
    double step_before(std::size_t i) const { return before_.empty() ? 0.0 : before_[i]; }

    // Where a variable comes to lie, and where it would without bounds.
    double free(std::size_t i, const Lengths& t) const {
        return alphas_[i] + t.now * change(i) + t.before * step_before(i);
    }
    double moved(std::size_t i, const Lengths& t) const {
        return change(i) == 0.0 && step_before(i) == 0.0
                   ? alphas_[i]
                   : clip(free(i, t), sweep_.loss().lower(variables_[i].C()), sweep_.loss().upper(variables_[i].C()));
    }

    // The maximum of the dual over the plane, or over the line where no step came before.
    Lengths best_lengths() const {
        const double bias = sweep_.column() * weights_.back(), curvature = sweep_.bias().curvature;
        double now = 0.0, before = 0.0;  // sums of sign_i times the changes
        double g0 = -dot(weights_, change_), a = dot(change_, change_), g1 = 0.0, b = 0.0, c = 0.0;
        if (!before_.empty()) {
            g1 = -dot(weights_, weights_before_);
            b = dot(change_, weights_before_);
            c = dot(weights_before_, weights_before_);
        }
        for (std::size_t i = 0; i < variables_.size(); ++i) {
            const double s = change(i), p = step_before(i);
            if (s != 0.0 || p != 0.0) {
                const double diagonal = sweep_.diagonal(i), edge = sweep_.loss().edge(variables_[i].alpha);
                const double slope = variables_[i].target - edge - diagonal * alphas_[i];
                now += variables_[i].sign() * s;
                before += variables_[i].sign() * p;
                g0 += slope * s;
                g1 += slope * p;
                a += diagonal * s * s;
                b += diagonal * s * p;
                c += diagonal * p * p;
            }
        }
        g0 -= bias * now;
        g1 -= bias * before;
        a += curvature * now * now;
        b += curvature * now * before;
        c += curvature * before * before;
        const double determinant = a * c - b * b;
        if (!(determinant > 1e-12 * a * c)) {
            return {a > 0.0 ? g0 / a : 1.0, 0.0};
        }
        return {(c * g0 - b * g1) / determinant, (a * g1 - b * g0) / determinant};
    }

    // Moves the weights to where the variables come to lie; returns what the dual has gained since the start.
    double move(const Lengths& t, std::vector<double>& w) {
        dense_axpy(t.now - 1.0, change_.data(), w.data(), w.size());
        if (t.before != 0.0) {
            dense_axpy(t.before, weights_before_.data(), w.data(), w.size());
        }
        double linear = 0.0, balance = 0.0;
        for (std::size_t i = 0; i < variables_.size(); ++i) {
            if (change(i) == 0.0 && step_before(i) == 0.0) {
                continue;
            }
            const Variable& v = variables_[i];
            const double alpha = moved(i, t), excess = free(i, t) - alpha, step = alpha - alphas_[i];
            if (excess != 0.0) {
                sweep_.rows().axpy(i, -v.sign() * excess, w.data());
                w.back() -= v.sign() * excess * sweep_.bias().step;
            }
            balance += v.sign() * step;
            linear += step * (v.target - sweep_.diagonal(i) * (alphas_[i] + 0.5 * step)) -
                      sweep_.loss().epsilon * (std::abs(alpha) - std::abs(alphas_[i]));
        }
        double quadratic = 0.0;  // w'd + d'd / 2 of the change d of the weights, twice
        for (std::size_t j = 0; j + 1 < w.size(); ++j) {
            quadratic += (w[j] - weights_[j]) * (w[j] + weights_[j]);
        }
        const double bias = sweep_.column() * weights_.back() + 0.5 * sweep_.bias().curvature * balance;
        return linear - 0.5 * quadratic - bias * balance;
    }

    // What has changed since the start is the step before the next.
    void remember(const std::vector<double>& w) {
        before_.resize(alphas_.size());
        for (std::size_t i = 0; i < alphas_.size(); ++i) {
            before_[i] = change(i);
        }
        weights_before_ = w;
        dense_axpy(-1.0, weights_.data(), weights_before_.data(), weights_before_.size());
    }

    const DualSweep& sweep_;
    std::span<Variable> variables_;
    std::vector<double> alphas_, weights_;         // where the epoch began
    std::vector<double> change_;                   // of the weights by the epoch
    std::vector<double> before_, weights_before_;  // the step before, in variables and in weights
    double steps_before_ = 0.0;                    // that round weights as much as it did
    double hardness_ = 0.0, cost_, work_ = 0.0, worthwhile_ = 1.0;
    double farthest_ = farthest;
    bool planned_ = false;
    int patience_ = 1, waiting_ = 0;  // epochs until the next step
};

}  // namespace maxmargin
