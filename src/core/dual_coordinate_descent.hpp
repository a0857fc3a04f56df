// Algorithm 1 of Hsieh et al. over any rows, loss and order: one exact step per visited row, w maintained, and an exact
// certificate from time to time. What makes it "dcd", "online" or "avsf" is the order alone.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "certificate.hpp"
#include "monitor.hpp"
#include "orders.hpp"
#include "problem.hpp"
#include "random.hpp"
#include "solvers.hpp"

namespace maxmargin {

template <class Rows, class Order>
class DualCoordinateDescent {
  public:
    DualCoordinateDescent(BinaryProblem<Rows> problem, Order order, Random& random, Monitor& monitor,
                          const Options& options)
        : problem_(problem), order_(std::move(order)), random_(random), monitor_(monitor), options_(options) {}

    // Starts from the alphas in the problem's variables and leaves the best ones there, with the weights that belong to
    // them.
    Outcome run(std::vector<double>& w) {
        const bool warm = std::any_of(problem_.variables.begin(), problem_.variables.end(),
                                      [](const Variable& v) { return v.alpha != 0.0; });
        problem_.rebuild_weights(w);
        dual_ = warm ? certify(problem_, w).dual : 0.0;
        const double check_cost = static_cast<double>(problem_.rows.stored() + row_cost * problem_.size());
        double credit = check_share * check_cost;
        double work_left = options_.max_passes * check_cost;
        Certificate last;
        double trust = 1.0;  // exact gap / estimate of the sweep, when both were last known
        while (true) {
            const Sweep sweep = epoch(w);
            ++epochs_;
            order_.end_epoch();
            dual_ += sweep.gain;
            credit += check_share * sweep.work;
            work_left -= sweep.work;
            bool check = monitor_.look() || epochs_ >= options_.max_iter || work_left <= 0.0 || credit >= check_cost;
            bool hopeful = false;
            if constexpr (Order::visits_every_active_row_once) {
                const double gap = trust * sweep.gap + last.hidden_gap;
                hopeful = gap <= options_.tol * std::abs(dual_ + gap);
                check = check || hopeful || sweep.gap < 0.1 * last.hidden_gap;
            }
            if (!check) {
                continue;
            }
            credit -= check_cost;
            if (hopeful) {
                problem_.rebuild_weights(w);
            }
            const double before = monitor_.seconds();
            last = certify(problem_, w, [this](std::size_t i) { return order_.hidden(i); });
            dual_ = last.dual;
            if (last.gap() <= options_.tol && !hopeful) {
                problem_.rebuild_weights(w);
                last = certify(problem_, w);
            }
            remember(last);
            check_seconds_ += monitor_.seconds() - before;
            const double difference = last.primal - last.dual;
            if (sweep.gap > 0.0) {
                trust = std::clamp((difference - last.hidden_gap) / sweep.gap, 0.1, 1.0);
            }
            monitor_.report({epochs_, monitor_.seconds(), last.primal, last.dual, last.gap(),
                             static_cast<std::int64_t>(order_.active()), w});
            if (last.gap() <= options_.tol) {
                return {last, epochs_, Exit::converged, check_seconds_};
            }
            if (monitor_.ended()) {
                return best(w, monitor_.exit());
            }
            if (epochs_ >= options_.max_iter || work_left <= 0.0) {
                return best(w, work_left <= 0.0 ? Exit::budget : Exit::max_iter);
            }
            if (last.hidden_gap > 0.5 * difference || sweep.gain <= 0.0) {
                order_.restart();
                last.hidden_gap = 0.0;
            }
        }
    }

  private:
    static constexpr double check_share = 0.12;  // of the work, for certificates
    static constexpr std::size_t row_cost = 8;   // what a visit costs beside its stored values, in stored values
    static constexpr std::size_t row_ahead = 3;
    static constexpr std::size_t start_ahead = 8;

    struct Sweep {
        double gap = 0.0;   // sum of gap_share, each row's at the time of its visit
        double gain = 0.0;  // growth of the dual
        double work = 0.0;
    };

    Sweep epoch(std::vector<double>& weights) {
        const std::span<const RowIndex> schedule = order_.schedule(random_);
        const Loss loss = problem_.loss;
        double* w = weights.data();
        Sweep sweep;
        std::size_t work = 0;
        for (std::size_t k = 0; k < schedule.size(); ++k) {
            if (k + start_ahead < schedule.size()) {
                problem_.rows.prefetch_start(schedule[k + start_ahead]);
                __builtin_prefetch(&problem_.variables[schedule[k + start_ahead]], 1);
            }
            if (k + row_ahead < schedule.size()) {
                problem_.rows.prefetch(schedule[k + row_ahead]);
            }
            const std::size_t i = schedule[k];
            Variable& v = problem_.variables[i];
            const double upper = loss.upper(v.C);
            const double z = problem_.slack(i, w);
            const double G = loss.diagonal(v.C) * v.alpha - z;
            std::size_t cost = problem_.rows.stored(i) + row_cost;
            if constexpr (Order::visits_every_active_row_once) {
                sweep.gap += gap_share(loss, v, z);
            }
            if (!order_.shrinks(i, v, loss.lower, upper, G)) {
                const double alpha = minimiser(v, G, loss.lower, upper);
                const double d = alpha - v.alpha;
                double gain = 0.0;
                if (d != 0.0) {
                    v.alpha = alpha;
                    problem_.add_row(i, d * v.y, w);
                    gain = -d * (G + 0.5 * v.curvature * d);
                    sweep.gain += gain;
                    cost += problem_.rows.stored(i);
                }
                order_.gained(i, gain);
            }
            work += cost;
            if (monitor_.poll(cost)) {
                break;
            }
        }
        sweep.work = static_cast<double>(work);
        return sweep;
    }

    // The exact solution of (5), eq. 9. A zero row without diagonal has zero curvature and goes to its bound at once.
    static double minimiser(const Variable& v, double G, double lower, double upper) {
        if (v.curvature > 0.0) {
            return clip(v.alpha - G / v.curvature, lower, upper);
        }
        return G < 0.0 ? upper : lower;
    }

    void remember(const Certificate& certificate) {
        if (!best_alpha_.empty() && !(certificate.gap() < best_.gap())) {
            return;
        }
        best_ = certificate;
        best_alpha_.resize(problem_.size());
        std::transform(problem_.variables.begin(), problem_.variables.end(), best_alpha_.begin(),
                       [](const Variable& v) { return v.alpha; });
    }

    Outcome best(std::vector<double>& w, Exit exit) {
        for (std::size_t i = 0; i < problem_.size(); ++i) {
            problem_.variables[i].alpha = best_alpha_[i];
        }
        problem_.rebuild_weights(w);
        const Certificate exact = certify(problem_, w);
        return {exact, epochs_, exact.gap() <= options_.tol ? Exit::converged : exit, check_seconds_};
    }

    BinaryProblem<Rows> problem_;
    Order order_;
    Random& random_;
    Monitor& monitor_;
    const Options& options_;
    std::int64_t epochs_ = 0;
    double dual_ = 0.0;
    double check_seconds_ = 0.0;
    Certificate best_;
    std::vector<double> best_alpha_;
};

}  // namespace maxmargin
