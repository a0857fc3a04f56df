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
#include "run/chunks.hpp"

namespace maxmargin {

class DualPlane {
  public:
    // Loops are shared by the threads of a team, if there is one.
    DualPlane(const DualSweep& sweep, std::span<Variable> variables, Team* team)
        : sweep_(sweep),
          variables_(variables),
          team_(team),
          over_variables_(variables.size(), work_of_variable * variables.size()),
          over_weights_(sweep.rows().features() + 1, work_of_weight * sweep.rows().features()) {
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
            copy(w, weights_);
            copy_alphas(alphas_);
        }
    }

    // After an epoch that gained `gain` in so many steps: the step, if it is better. Returns what has been gained in
    // all; `steps` then says how many single steps would have rounded the weights as much.
    double take(std::vector<double>& w, double gain, double& steps) {
        if (!planned_ || !(gain > 0.0)) {
            return gain;
        }
        subtract(w, weights_, change_);
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
            over_variables_.for_each(team_, [&](std::size_t, std::size_t begin, std::size_t end) {
                for (std::size_t i = begin; i < end; ++i) {
                    variables_[i].alpha = moved(i, t);
                }
            });
        } else {
            over_weights_.for_each(team_, [&](std::size_t, std::size_t begin, std::size_t end) {
                std::copy_n(weights_.data() + begin, end - begin, w.data() + begin);
                dense_axpy(1.0, change_.data() + begin, w.data() + begin, end - begin);
            });
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

    // In stored values.
    static constexpr std::size_t work_of_variable = 8, work_of_weight = 2;

    // How far to go along the change of the epoch, and along the step before.
    struct Lengths {
        double now, before;
    };

    void copy(const std::vector<double>& from, std::vector<double>& to) const {
        to.resize(from.size());
        over_weights_.for_each(team_, [&](std::size_t, std::size_t begin, std::size_t end) {
            std::copy_n(from.data() + begin, end - begin, to.data() + begin);
        });
    }
    void subtract(const std::vector<double>& a, const std::vector<double>& b, std::vector<double>& difference) const {
        difference.resize(a.size());
        over_weights_.for_each(team_, [&](std::size_t, std::size_t begin, std::size_t end) {
            std::copy_n(a.data() + begin, end - begin, difference.data() + begin);
            dense_axpy(-1.0, b.data() + begin, difference.data() + begin, end - begin);
        });
    }

    void copy_alphas(std::vector<double>& alphas) const {
        alphas.resize(variables_.size());
        over_variables_.for_each(team_, [&](std::size_t, std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i) {
                alphas[i] = variables_[i].alpha;
            }
        });
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

    // The slopes of the dual along both steps, its curvatures, and the sums of sign_i times the changes.
    struct Slopes {
        double g0 = 0.0, g1 = 0.0, a = 0.0, b = 0.0, c = 0.0, now = 0.0, before = 0.0;

        Slopes& operator+=(const Slopes& other) {
            g0 += other.g0;
            g1 += other.g1;
            a += other.a;
            b += other.b;
            c += other.c;
            now += other.now;
            before += other.before;
            return *this;
        }
    };

    // The maximum of the dual over the plane, or over the line where no step came before.
    Lengths best_lengths() const {
        const double bias = sweep_.column() * weights_.back(), curvature = sweep_.bias().curvature;
        Slopes all = over_weights_.sum<Slopes>(team_, [&](std::size_t begin, std::size_t end) {
            Slopes own;
            const std::size_t count = std::min(end, weights_.size() - 1) - begin;  // the bias is the last weight
            const double *w = weights_.data() + begin, *s = change_.data() + begin;
            own.g0 = -dense_dot(w, s, count);
            own.a = dense_dot(s, s, count);
            if (!before_.empty()) {
                const double* p = weights_before_.data() + begin;
                own.g1 = -dense_dot(w, p, count);
                own.b = dense_dot(s, p, count);
                own.c = dense_dot(p, p, count);
            }
            return own;
        });
        all += over_variables_.sum<Slopes>(team_, [&](std::size_t begin, std::size_t end) {
            Slopes own;
            for (std::size_t i = begin; i < end; ++i) {
                const double s = change(i), p = step_before(i);
                if (s != 0.0 || p != 0.0) {
                    const double diagonal = sweep_.diagonal(i), edge = sweep_.loss().edge(variables_[i].alpha);
                    const double slope = variables_[i].target - edge - diagonal * alphas_[i];
                    own.now += variables_[i].sign() * s;
                    own.before += variables_[i].sign() * p;
                    own.g0 += slope * s;
                    own.g1 += slope * p;
                    own.a += diagonal * s * s;
                    own.b += diagonal * s * p;
                    own.c += diagonal * p * p;
                }
            }
            return own;
        });
        const double g0 = all.g0 - bias * all.now, g1 = all.g1 - bias * all.before;
        const double a = all.a + curvature * all.now * all.now, b = all.b + curvature * all.now * all.before;
        const double c = all.c + curvature * all.before * all.before;
        const double determinant = a * c - b * b;
        if (!(determinant > 1e-12 * a * c)) {
            return {a > 0.0 ? g0 / a : 1.0, 0.0};
        }
        return {(c * g0 - b * g1) / determinant, (a * g1 - b * g0) / determinant};
    }

    // A row whose variable would be beyond a bound, and what has to be added of it to the weights: at once by a single
    // thread, and by several after all have been listed.
    struct Beyond {
        std::size_t row;
        double excess;
    };

    struct Moved {
        double linear = 0.0, balance = 0.0, quadratic = 0.0;

        Moved& operator+=(const Moved& other) {
            linear += other.linear;
            balance += other.balance;
            quadratic += other.quadratic;
            return *this;
        }
    };

    // Moves the weights to where the variables come to lie; returns what the dual has gained since the start.
    double move(const Lengths& t, std::vector<double>& w) {
        over_weights_.for_each(team_, [&](std::size_t, std::size_t begin, std::size_t end) {
            dense_axpy(t.now - 1.0, change_.data() + begin, w.data() + begin, end - begin);
            if (t.before != 0.0) {
                dense_axpy(t.before, weights_before_.data() + begin, w.data() + begin, end - begin);
            }
        });
        beyond_.resize(over_variables_.count());
        std::vector<Moved> moves(over_variables_.count());
        over_variables_.for_each(team_, [&](std::size_t chunk, std::size_t begin, std::size_t end) {
            Moved own;
            std::vector<Beyond>& beyond = beyond_[chunk];
            beyond.clear();
            for (std::size_t i = begin; i < end; ++i) {
                if (change(i) == 0.0 && step_before(i) == 0.0) {
                    continue;
                }
                const Variable& v = variables_[i];
                const double alpha = moved(i, t), excess = free(i, t) - alpha, step = alpha - alphas_[i];
                if (excess != 0.0 && team_ != nullptr) {
                    beyond.push_back({i, -v.sign() * excess});
                } else if (excess != 0.0) {
                    take_back({i, -v.sign() * excess}, w);
                }
                own.balance += v.sign() * step;
                own.linear += step * (v.target - sweep_.diagonal(i) * (alphas_[i] + 0.5 * step)) -
                              sweep_.loss().epsilon * (std::abs(alpha) - std::abs(alphas_[i]));
            }
            moves[chunk] = own;
        });
        take_back(w);
        Moved all;
        for (const Moved& own : moves) {
            all += own;
        }
        // w'd + d'd / 2 of the change d of the weights, twice
        all += over_weights_.sum<Moved>(team_, [&](std::size_t begin, std::size_t end) {
            Moved own;
            for (std::size_t j = begin; j < std::min(end, w.size() - 1); ++j) {
                own.quadratic += (w[j] - weights_[j]) * (w[j] + weights_[j]);
            }
            return own;
        });
        const double bias = sweep_.column() * weights_.back() + 0.5 * sweep_.bias().curvature * all.balance;
        return all.linear - 0.5 * all.quadratic - bias * all.balance;
    }

    void take_back(const Beyond& own, std::vector<double>& w) const {
        sweep_.rows().axpy(own.row, own.excess, w.data());
        w.back() += own.excess * sweep_.bias().step;
    }
    // All that was listed; by parts of the columns where there are any.
    void take_back(std::vector<double>& w) const {
        const SweptRows& rows = sweep_.rows();
        if (team_ == nullptr || rows.parts() == 1) {
            for_each_beyond([&](const Beyond& own) { take_back(own, w); });
        } else {
            const std::size_t parts = rows.parts();
            rows.packed()->with_view([&](const auto& view) {
                team_->run([&](std::size_t member) {
                    for (std::size_t part = member; part < parts; part += team_->size()) {
                        const auto columns = view.part(part);
                        for_each_beyond([&](const Beyond& own) { columns.axpy(own.row, own.excess, w.data()); });
                    }
                });
            });
            for_each_beyond([&](const Beyond& own) { w.back() += own.excess * sweep_.bias().step; });
        }
    }
    template <class Body>
    void for_each_beyond(const Body& body) const {
        for (const std::vector<Beyond>& chunk : beyond_) {
            for (const Beyond& own : chunk) {
                body(own);
            }
        }
    }

    // What has changed since the start is the step before the next.
    void remember(const std::vector<double>& w) {
        before_.resize(alphas_.size());
        over_variables_.for_each(team_, [&](std::size_t, std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i) {
                before_[i] = change(i);
            }
        });
        subtract(w, weights_, weights_before_);
    }

    const DualSweep& sweep_;
    std::span<Variable> variables_;
    Team* team_;
    Chunks over_variables_, over_weights_;
    std::vector<std::vector<Beyond>> beyond_;      // of each chunk
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
