// Dual coordinate ascent on a proximal step of a problem with |w|_1 (Rockafellar 1976; Shalev-Shwartz & Zhang 2014).
// With mu / 2 |w - centre|^2 added, the dual has no conditions, and its weights are
//
//     w(a) = soft(u, 1) / mu,   u = sum_i sign_i a_i x_i + mu centre,
//
// so that exact steps over rows are as cheap as with |w|^2. Where C is large the slacks of the primal descent are far
// from dual variables: the sums of the heaviest features are off by many times their limit. A few of these epochs,
// centred at its weights, give both good variables and better weights.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "binary/problem.hpp"
#include "numeric/row_entries.hpp"
#include "run/monitor.hpp"
#include "run/random.hpp"

namespace maxmargin {

template <RowSource Rows>
class L1Proximal {
  public:
    L1Proximal(const BinaryProblem<Rows>& problem, std::uint64_t seed, Monitor& monitor)
        : problem_(problem), monitor_(monitor), random_(seed), order_(rows_taking_part(problem.variables)) {}

    std::vector<double> alpha;  // one per row; kept from step to step

    // Makes ready for a step around a centre, which must stay where it is.
    void begin(const std::vector<double>& centre, double mu) {
        centre_ = centre;
        mu_ = mu;
        problem_.assign(alpha);
        problem_.sum_rows(u_);
        for (std::size_t j = 0; j < centre.size(); ++j) {
            u_[j] += mu * centre[j];
        }
        random_.shuffle(std::span(order_));
        active_ = order_;
    }

    // Some epochs. `sums` are those of the variables afterwards.
    void sweep(std::int64_t epochs, std::vector<double>& sums) {
        problem_.with_view([&](const auto& problem) {
            for (std::int64_t epoch = 0; epoch < epochs && !monitor_.ended(); ++epoch) {
                visit_active(problem);
            }
        });
        sums.resize(u_.size());
        for (std::size_t j = 0; j < u_.size(); ++j) {
            sums[j] = u_[j] - mu_ * centre_[j];
        }
    }

    std::vector<double> weights() const {
        std::vector<double> w(u_.size());
        for (std::size_t j = 0; j < w.size(); ++j) {
            w[j] = (problem_.bias.free && j == problem_.features() ? u_[j] : beyond(u_[j])) / mu_;
        }
        return w;
    }

  private:
    static constexpr std::size_t rows_ahead = 4;

    // soft(u, 1). The weights are these over mu and are kept nowhere, so that a visit reads and writes one array.
    static double beyond(double u) { return u - std::min(std::max(u, -1.0), 1.0); }

    // An epoch. Rows that stay where they are have their slack within the bound, and are left out until the next step.
    template <class Problem>
    void visit_active(const Problem& problem) {
        std::size_t kept = 0;
        for (std::size_t k = 0; k < active_.size(); ++k) {
            const RowIndex i = active_[k];
            if (monitor_.poll(2 * problem.rows.stored(i))) {
                return;
            }
            if (k + rows_ahead < active_.size()) {
                problem.rows.prefetch_start(active_[k + rows_ahead]);
            }
            if (k + rows_ahead / 2 < active_.size()) {
                problem.rows.prefetch(active_[k + rows_ahead / 2]);
            }
            if (visit(problem, i)) {
                active_[kept++] = i;
            }
        }
        active_.resize(kept);
        random_.shuffle(std::span(active_));
    }

    // The exact step of one variable; whether it is worth another visit.
    template <class Problem>
    bool visit(const Problem& problem, RowIndex i) {
        const Variable& v = problem.variables[i];
        const double C = v.C(), diagonal = problem.loss.diagonal(C), bias = problem.bias.value, old = alpha[i];
        const auto row = problem.rows.entries(i, buffer_);
        const double* u = u_.data();
        double even = bias == 0.0 ? 0.0 : bias * (problem.bias.free ? u_.back() : beyond(u_.back())), odd = 0.0;
        std::size_t k = 0;
        for (; k + 2 <= row.count; k += 2) {
            even += static_cast<double>(row.values[k]) * beyond(u[row.far[k]]);
            odd += static_cast<double>(row.values[k + 1]) * beyond(u[row.far[k + 1]]);
        }
        if (k < row.count) {
            even += static_cast<double>(row.values[k]) * beyond(u[row.far[k]]);
        }
        const double slope = v.target - v.sign() * (even + odd) / mu_ - diagonal * old;
        const double curvature = (v.curvature + bias * bias) / mu_ + diagonal;
        alpha[i] = std::max(old + slope / curvature, problem.loss.lower(C));
        const double change = v.sign() * (alpha[i] - old);
        if (change == 0.0) {
            return false;
        }
        problem.add_row(i, change, u_.data());
        return true;
    }

    const BinaryProblem<Rows>& problem_;
    Monitor& monitor_;
    Random random_;
    std::vector<RowIndex> order_, active_;
    std::vector<double> u_, centre_;
    RowBuffer buffer_;
    double mu_ = 1.0;
};

}  // namespace maxmargin
