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
#include "run/monitor.hpp"
#include "run/random.hpp"

namespace maxmargin {

template <RowSource Rows>
class L1Proximal {
  public:
    L1Proximal(const BinaryProblem<Rows>& problem, std::uint64_t seed, Monitor& monitor)
        : problem_(problem), monitor_(monitor), random_(seed), order_(rows_taking_part(problem.variables)) {}

    std::vector<double> alpha;  // one per row; kept from step to step
    std::vector<double> w;      // of the last step

    // Some epochs around a centre. Afterwards `sums` are those of the variables.
    void step(const std::vector<double>& centre, double mu, std::int64_t epochs, std::vector<double>& sums) {
        problem_.assign(alpha);
        problem_.sum_rows(sums);
        mu_ = mu;
        u_.resize(centre.size());
        w.resize(centre.size());
        for (std::size_t j = 0; j < centre.size(); ++j) {
            u_[j] = sums[j] + mu * centre[j];
            w[j] = weight(j);
        }
        random_.shuffle(std::span(order_));
        std::vector<RowIndex> active = order_;
        for (std::int64_t epoch = 0; epoch < epochs && !monitor_.ended(); ++epoch) {
            // Rows that stay where they are have their slack within the bound, and are left out until the next step.
            std::size_t kept = 0;
            for (const RowIndex i : active) {
                if (monitor_.poll(2 * problem_.rows.stored(i))) {
                    break;
                }
                if (visit(i)) {
                    active[kept++] = i;
                }
            }
            if (!monitor_.ended()) {
                active.resize(kept);
            }
            random_.shuffle(std::span(active));
        }
        for (std::size_t j = 0; j < centre.size(); ++j) {
            sums[j] = u_[j] - mu * centre[j];
        }
    }

  private:
    double weight(std::size_t j) const {
        const double limit = problem_.bias.free && j == problem_.features() ? 0.0 : 1.0, u = u_[j];
        return (u - std::min(std::max(u, -limit), limit)) / mu_;
    }

    // The exact step of one variable; whether it is worth another visit.
    bool visit(RowIndex i) {
        const Variable& v = problem_.variables[i];
        const double C = v.C(), diagonal = problem_.loss.diagonal(C), bias = problem_.bias.value, old = alpha[i];
        const double slope = problem_.slack(i, w.data()) - diagonal * old;
        const double curvature = (v.curvature + bias * bias) / mu_ + diagonal;
        alpha[i] = std::max(old + slope / curvature, problem_.loss.lower(C));
        const double change = v.sign() * (alpha[i] - old);
        if (change == 0.0) {
            return false;
        }
        problem_.rows.for_each(i, [&](std::size_t j, double x) {
            u_[j] += change * x;
            w[j] = weight(j);
        });
        if (bias != 0.0) {
            u_.back() += change * bias;
            w.back() = weight(problem_.features());
        }
        return true;
    }

    const BinaryProblem<Rows>& problem_;
    Monitor& monitor_;
    Random random_;
    std::vector<RowIndex> order_;
    std::vector<double> u_;
    double mu_ = 1.0;
};

}  // namespace maxmargin
