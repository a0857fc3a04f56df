// The sequential dual method of Keerthi et al. (2008), Algorithms 2.1 and 3.1, with the heuristics of its section 2.1:
// a loop over all rows and classes, then loops over those rows and classes only that are not at a bound, until these
// are solved to an accuracy that starts at 1 and is cooled by factors of 10, or have cost as much as allowed.
//
// Full loops visit rows in the order of a random permutation, as in the paper, so that their estimate of the gap tells
// when a certificate pays. Shrunk loops do the same, or go by adaptive frequencies.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

#include "binary/orders.hpp"
#include "multiclass/methods.hpp"
#include "numeric/huge_array.hpp"
#include "run/pace.hpp"
#include "run/random.hpp"
#include "run/reached.hpp"

namespace maxmargin {
namespace {

template <RowSource Rows>
class SequentialDualMethod {
  public:
    SequentialDualMethod(MulticlassState& state, MulticlassProblem<Rows>& problem, const SequentialDualOptions& options,
                         const Limits& limits, Monitor& monitor)
        : state_(state),
          problem_(problem),
          options_(options),
          limits_(limits),
          monitor_(monitor),
          random_(limits.seed),
          shuffle_(good_mixing(problem.rows()), row_bytes(problem.rows())),
          frequencies_(options.adaptive ? problem.size() : 0),
          all_(rows_taking_part(problem.variables().rows)) {}

    Outcome run() {
        const double pass_cost = problem_.pass_cost();
        problem_.variables() = state_.bounds.variables();
        problem_.rebuild_weights(w_);
        dual_ = state_.bounds.dual();
        CheckBudget checks(check_share, pass_cost);
        monitor_.expect_check(pass_cost / class_block);
        double accuracy = 1.0, work = 0.0;
        while (true) {
            const Loop full = loop<true>(all_);
            checks.work(full.cost);
            work += full.cost;
            const double passes = work / pass_cost;
            const bool out_of_work = passes >= limits_.max_passes;
            const bool last = monitor_.look() || epochs_ >= limits_.max_iter || out_of_work;
            // If each row was visited once, its share of the gap was seen, though at different weights.
            const double gap = trust_ * full.gap;
            const bool hopeful = gap <= limits_.tol * std::abs(dual_ + gap);
            if (last || hopeful || checks.enough() || monitor_.report_due(passes)) {
                checks.spend();
                if (check(full.gap, passes)) {
                    return {Exit::converged, epochs_};
                }
                if (last || monitor_.ended()) {
                    const Exit limit = out_of_work ? Exit::budget : Exit::max_iter;
                    return {monitor_.ended() ? monitor_.exit() : limit, epochs_};
                }
            }
            if (full.violation < accuracy) {
                accuracy *= cooling;
            }
            if (full.gain <= 0.0 && options_.adaptive) {
                frequencies_.forget();
            }
            if (options_.shrinking) {
                const double left = limits_.max_passes * pass_cost - work;
                const double cost = shrunk_loops(accuracy, std::min(options_.most_effort * pass_cost, left));
                checks.work(cost);
                work += cost;
            }
        }
    }

  private:
    static constexpr double check_share = 0.12;  // of the work, for certificates
    static constexpr double cooling = 0.1;
    static constexpr std::size_t row_ahead = 6;
    static constexpr std::size_t start_ahead = 16;

    struct Loop {
        double gap = 0.0;
        double gain = 0.0;
        double violation = 0.0;
        double cost = 0.0;
    };

    double shrunk_loops(double accuracy, double most_cost) {
        double cost = 0.0, first_gain = 0.0;
        while (cost < most_cost && !monitor_.look()) {
            active_.clear();
            std::copy_if(all_.begin(), all_.end(), std::back_inserter(active_),
                         [this](RowIndex i) { return !problem_.at_bounds(i); });
            if (active_.empty()) {
                break;
            }
            const Loop shrunk = loop<false>(active_);
            cost += shrunk.cost;
            first_gain = std::max(first_gain, shrunk.gain);
            if (shrunk.violation < accuracy || shrunk.gain <= options_.little_gain * first_gain) {
                break;
            }
        }
        return cost;
    }

    template <bool all_classes>
    Loop loop(std::span<const RowIndex> rows) {
        double* w = w_.data();
        const bool first = epochs_ == 0;
        const double fade = 1.0 / static_cast<double>(std::max<std::size_t>(rows.size(), 1));
        if (options_.adaptive && !first && !all_classes) {
            frequencies_.fill(rows, schedule_, random_);
        } else {
            shuffle_.fill(rows, schedule_, random_);
        }
        epochs_ += all_classes ? 1 : 0;  // shrunk loops are not counted
        Loop sum;
        for (std::size_t k = 0; k < schedule_.size(); ++k) {
            if (k + start_ahead < schedule_.size()) {
                problem_.prefetch_start(schedule_[k + start_ahead]);
            }
            if (k + row_ahead < schedule_.size()) {
                problem_.prefetch(schedule_[k + row_ahead]);
            }
            const std::size_t i = schedule_[k];
            const Visit visit = all_classes ? problem_.visit(i, w) : problem_.visit_listed(i, w);
            if (options_.adaptive) {
                if (first) {
                    frequencies_.refer(visit.gain, fade);
                } else {
                    frequencies_.gained(i, visit.gain, fade);
                }
            }
            sum.gap += visit.gap;
            sum.gain += visit.gain;
            sum.violation = std::max(sum.violation, visit.violation);
            sum.cost += static_cast<double>(visit.cost);
            if (monitor_.poll(visit.cost / class_block)) {
                break;
            }
        }
        dual_ += sum.gain;
        return sum;
    }

    // Offers the iterate to the bounds; whether they are within the tolerance, without the rounding errors of many
    // steps.
    bool check(double estimate, double passes) {
        double primal;
        {
            const Monitor::Checking checking(monitor_);
            primal = problem_.primal(w_, monitor_.team());
            dual_ = problem_.dual(w_);
            state_.bounds.offer_weights(primal, w_);
            state_.offer_variables(dual_);
        }
        if (estimate > 0.0) {
            trust_ = std::clamp((primal - dual_) / estimate, 0.1, 1.0);
        }
        const bool hoped = state_.bounds.gap() <= limits_.tol;
        const bool converged = reached(state_, limits_.tol, monitor_);
        if (hoped && !converged) {
            problem_.rebuild_weights(w_);
        }
        const auto free =
            std::count_if(all_.begin(), all_.end(), [this](RowIndex i) { return !problem_.at_bounds(i); });
        monitor_.report(epochs_, passes, static_cast<std::size_t>(free), state_.bounds);
        return converged;
    }

    MulticlassState& state_;
    MulticlassProblem<Rows>& problem_;
    const SequentialDualOptions& options_;
    const Limits& limits_;
    Monitor& monitor_;
    Random random_;
    Shuffle shuffle_;
    Frequencies frequencies_;
    std::vector<RowIndex> all_, active_, schedule_;
    std::int64_t epochs_ = 0;
    HugeVector<double> w_;
    double dual_ = 0.0;
    double trust_ = 1.0;  // exact gap / estimate of the loop, when both were last known
};

}  // namespace

Outcome sequential_dual_method(MulticlassState& state, const SequentialDualOptions& options, const Limits& limits,
                               Monitor& monitor) {
    return state.visit([&]<class Rows>(MulticlassProblem<Rows>& problem) {
        return SequentialDualMethod<Rows>(state, problem, options, limits, monitor).run();
    });
}

}  // namespace maxmargin
