// How Newton's method gets its dual bound. The variables that the slacks of w ask for, slack over D, have a dual value
// that lags behind the primal one: they are far from optimal until w is, where C is large they carry the rounding
// errors of the slacks many times enlarged, and those of a smoothed hinge are off by its width. Each end below moves
// them to solve their own equations, and offers what it finds.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "binary/certificate.hpp"
#include "binary/dual_sweep.hpp"
#include "binary/free_bias.hpp"
#include "binary/free_variables.hpp"
#include "binary/newton_system.hpp"
#include "binary/orders.hpp"
#include "binary/state.hpp"
#include "run/chunks.hpp"
#include "run/monitor.hpp"
#include "run/random.hpp"

namespace maxmargin {

template <RowSource Rows>
class NewtonEnd {
  public:
    // `sums` are the weights of the variables as they are, with a bias to start from, and `dual` their dual value.
    NewtonEnd(BinaryState& state, const BinaryProblem<Rows>& problem, double tol, Monitor& monitor,
              std::vector<double> sums, double dual)
        : state_(state), problem_(problem), tol_(tol), monitor_(monitor), sums_(std::move(sums)), dual_(dual) {}

    bool reached() const { return state_.bounds.gap() <= tol_; }

    // With what is left of their own equations, r = z - D a at the weights of a, the equations of the curved rows are
    // solved for the change: D da + x.d = r with d the sum of sign x da, so that d solves the system of a Newton step.
    void refine(DenseHessian<Rows>& hessian, const Loss& smooth, const std::vector<RowIndex>& curved) {
        hessian.set_curved(curved);
        for (int round = 0; round < most_refinements && !reached() && !monitor_.look(); ++round) {
            std::vector<double> d(sums_.size()), residual(curved.size());
            for (std::size_t k = 0; k < curved.size(); ++k) {
                const Variable& v = problem_.variables[curved[k]];
                residual[k] =
                    problem_.slack(curved[k], sums_.data()) - smooth.edge(v.alpha) - smooth.diagonal(v.C()) * v.alpha;
                problem_.add_row(curved[k], residual[k] * smooth.inverse_diagonal(v.C()) * v.sign(), d.data());
            }
            if (!hessian.solve(smooth.diagonal_times_C, d)) {
                return;
            }
            problem_.copy_alphas(before_);
            for (std::size_t k = 0; k < curved.size(); ++k) {
                Variable& v = problem_.variables[curved[k]];
                const double change = residual[k] - problem_.margin(curved[k], d.data());
                v.alpha =
                    clip(v.alpha + change * smooth.inverse_diagonal(v.C()), smooth.lower(v.C()), smooth.upper(v.C()));
            }
            if (!keeps_improving()) {
                return;
            }
        }
    }

    // For the hinge: the variables between their bounds are solved for exactly (free_variables.hpp).
    void solve_free_variables() {
        FreeVariables<Rows> free(problem_);
        if (!free.factorise()) {
            return;
        }
        for (int round = 0; round < most_rounds && !reached() && !monitor_.look(); ++round) {
            problem_.copy_alphas(before_);
            free.step(sums_);
            const bool improving = keeps_improving();
            offer_weights();
            if (!improving) {
                return;
            }
        }
    }

    // With many features: the equations of the curved rows by conjugate gradients, cut off at the bounds.
    void solve_curved(const Loss& smooth, const std::vector<RowIndex>& curved) {
        const double most_work = most_dual_passes * static_cast<double>(problem_.rows.stored());
        solve_for_alphas(problem_, smooth, curved, most_work, monitor_, sums_);
        for (const RowIndex i : curved) {
            Variable& v = problem_.variables[i];
            v.alpha = clip(v.alpha, problem_.loss.lower(v.C()), problem_.loss.upper(v.C()));
        }
        offer_variables();
    }

    // For the hinge, when the tolerance is near: some sweeps of dual coordinate descent, most of them over few rows.
    void polish(double most_passes) {
        problem_.assign(state_.bounds.variables());
        problem_.sum_rows(sums_);
        sweep(rows_taking_part(problem_.variables), state_.bounds.dual(), most_passes);
        offer_variables();
        if (!reached()) {
            offer_weights();
        }
    }

    // The variables that a Newton step `d` from w leads to, cut off at their bounds, and sweeps over the curved rows
    // for what that has broken, if any are wanted.
    void sweep_curved(const Loss& smooth, const std::vector<RowIndex>& curved, const std::vector<double>& d,
                      double most_passes) {
        const std::size_t work = curved.size() * problem_.rows.stored() / std::max<std::size_t>(problem_.size(), 1);
        problem_.with_view([&](const auto& problem) {
            const auto step = [&](std::size_t, std::size_t begin, std::size_t end) {
                for (std::size_t k = begin; k < end; ++k) {
                    Variable& v = problem.variables[curved[k]];
                    const double change = problem.margin(curved[k], d.data()) * smooth.inverse_diagonal(v.C());
                    v.alpha = clip(v.alpha - change, smooth.lower(v.C()), smooth.upper(v.C()));
                }
            };
            Chunks(curved.size(), work).for_each(monitor_.team(), step);
        });
        dual_ = offer_variables();
        if (!reached() && !curved.empty() && most_passes > 0.0) {
            sweep(curved, dual_, most_passes);
            offer_variables();
        }
    }

  private:
    static constexpr int most_refinements = 4, most_rounds = 4;
    static constexpr double most_dual_passes = 20.0;

    // Over `rows`, from the variables as they are, with their sums and their dual value.
    void sweep(std::vector<RowIndex> rows, double dual, double most_passes) {
        const double column = problem_.bias.value;
        const DualSweep sweeper(problem_.rows, problem_.variables, problem_.loss, column, {column, column * column});
        const double pass_cost =
            sweeper.pass_cost() * static_cast<double>(rows.size()) / static_cast<double>(problem_.size());
        Permuted order(std::move(rows), problem_.size(), true, false, Shuffle(Mixing::pages, row_bytes(problem_.rows)));
        Random random(0);
        Visits visits;
        const double enough = state_.bounds.primal() - tol_ * std::abs(state_.bounds.primal());
        for (double work = 0.0; work < most_passes * pass_cost && dual < enough && !monitor_.look();) {
            const SweepResult sweep =
                sweeper.run(order.schedule(random), order.rule(), false, sums_.data(), visits, monitor_);
            order.end_epoch(visits);
            dual += sweep.gain;
            work += sweep.work;
            if (sweep.gain <= 0.0 || sweep.gap <= 0.5 * tol_ * std::abs(dual)) {
                break;
            }
        }
    }

    // The variables as they are; their weights go to `sums_`. Returns the dual value.
    double offer_variables() {
        const double bias = sums_.back();
        if (problem_.bias.free) {
            balance(problem_);
        }
        const double dual = dual_value(problem_, sums_, monitor_.team());
        state_.offer_variables(dual, problem_, 0.0, monitor_.team());
        if (problem_.bias.free) {
            sums_.back() = bias;
        }
        return dual;
    }

    // Their weights, with the best bias for them if it is free.
    void offer_weights() {
        if (!problem_.bias.free) {
            state_.bounds.offer_weights(primal_value(problem_, sums_, monitor_.team()), sums_);
            return;
        }
        const double losses = set_best_bias(problem_, sums_);
        state_.bounds.offer_weights(problem_.regulariser().value(sums_) + losses, sums_);
    }

    // Offers the variables; where they are no better than before, those of before come back.
    bool keeps_improving() {
        const double dual = offer_variables();
        if (!(dual > dual_)) {
            problem_.assign(before_);
            return false;
        }
        dual_ = dual;
        return true;
    }

    BinaryState& state_;
    const BinaryProblem<Rows>& problem_;
    double tol_;
    Monitor& monitor_;
    std::vector<double> sums_, before_;
    double dual_;
};

}  // namespace maxmargin
