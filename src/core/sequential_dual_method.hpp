// The sequential dual method of Keerthi et al. (2008), Algorithms 2.1 and 3.1, with the heuristics of its section 2.1:
// a loop over all rows and classes, then loops over those rows and classes only that are not at a bound, until these
// are solved to an accuracy that starts at 1 and is cooled by factors of 10, or have cost as much as allowed.
//
// Rows are visited in the order of a random permutation, as in the paper, or by adaptive frequencies.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

#include "certificate.hpp"
#include "monitor.hpp"
#include "multiclass_problem.hpp"
#include "orders.hpp"
#include "random.hpp"
#include "solvers.hpp"

namespace maxmargin {

template <class Rows>
class SequentialDualMethod {
  public:
    SequentialDualMethod(MulticlassProblem<Rows>& problem, bool paged, const Options& options, Monitor& monitor)
        : problem_(problem),
          options_(options),
          monitor_(monitor),
          random_(options.seed),
          shuffle_(paged),
          frequencies_(options.order == OrderName::adaptive ? problem.size() : 0) {
        for (std::size_t i = 0; i < problem.size(); ++i) {
            if (problem.variables().rows[i].C > 0.0) {
                all_.push_back(static_cast<RowIndex>(i));
            }
        }
    }

    // Starts from the variables of the problem and leaves the best ones there, with the weights that belong to them.
    Outcome run(std::vector<double>& w) {
        const double pass_cost = problem_.pass_cost();
        problem_.rebuild_weights(w);
        dual_ = problem_.dual(w);
        double credit = check_share * pass_cost, accuracy = 1.0;
        double work_left = options_.max_passes * pass_cost;
        while (true) {
            const Loop full = loop<true>(all_, w.data());
            credit += check_share * full.cost;
            work_left -= full.cost;
            const bool last = is_last(work_left);
            // If each row was visited once, its share of the gap was seen, though at different weights.
            const double gap = trust_ * full.gap;
            const bool hopeful = !adaptive() && gap <= options_.tol * std::abs(dual_ + gap);
            if (last || hopeful || credit >= pass_cost) {
                credit -= pass_cost;
                check(w, full.gap);
                if (checked_.gap() <= options_.tol) {
                    return {checked_, epochs_, Exit::converged, check_seconds_};
                }
                if (last) {
                    return best(
                        w, monitor_.ended() ? monitor_.exit() : (work_left <= 0.0 ? Exit::budget : Exit::max_iter));
                }
            }
            if (full.violation < accuracy) {
                accuracy *= cooling;
            }
            if (full.gain <= 0.0 && adaptive()) {
                frequencies_.forget();
            }
            if (options_.shrinking) {
                const double cost = shrunk_loops(w.data(), accuracy, std::min(most_effort * pass_cost, work_left));
                credit += check_share * cost;
                work_left -= cost;
            }
        }
    }

  private:
    static constexpr double check_share = 0.12;  // of the work, for certificates
    static constexpr double cooling = 0.1;
    static constexpr double most_effort = 2.0;  // of shrunk loops, in full ones; the paper has 5
    static constexpr double little_gain = 0.1;  // of a shrunk loop, compared with the first of them
    static constexpr std::size_t row_ahead = 6;
    static constexpr std::size_t start_ahead = 16;

    struct Loop {
        double gap = 0.0;
        double gain = 0.0;
        double violation = 0.0;
        double cost = 0.0;
    };

    bool adaptive() const { return options_.order == OrderName::adaptive; }
    bool is_last(double work_left) { return monitor_.look() || epochs_ >= options_.max_iter || work_left <= 0.0; }

    double shrunk_loops(double* w, double accuracy, double most_cost) {
        double cost = 0.0, first_gain = 0.0;
        while (cost < most_cost && !monitor_.look()) {
            active_.clear();
            std::copy_if(all_.begin(), all_.end(), std::back_inserter(active_),
                         [this](RowIndex i) { return !problem_.at_bounds(i); });
            if (active_.empty()) {
                break;
            }
            const Loop shrunk = loop<false>(active_, w);
            cost += shrunk.cost;
            first_gain = std::max(first_gain, shrunk.gain);
            if (shrunk.violation < accuracy || shrunk.gain <= little_gain * first_gain) {
                break;
            }
        }
        return cost;
    }

    template <bool all_classes>
    Loop loop(std::span<const RowIndex> rows, double* w) {
        const bool first = epochs_ == 0;
        const double fade = 1.0 / static_cast<double>(std::max<std::size_t>(rows.size(), 1));
        if (adaptive() && !first) {
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
            if (adaptive()) {
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

    void check(std::vector<double>& w, double estimate) {
        const double before = monitor_.seconds();
        checked_ = problem_.certify(w);
        if (checked_.gap() <= options_.tol) {
            problem_.rebuild_weights(w);
            checked_ = problem_.certify(w);
        }
        dual_ = checked_.dual;
        if (estimate > 0.0) {
            trust_ = std::clamp((checked_.primal - checked_.dual) / estimate, 0.1, 1.0);
        }
        if (kept_.rows.empty() || checked_.gap() < best_.gap()) {
            best_ = checked_;
            kept_ = problem_.variables();
        }
        check_seconds_ += monitor_.seconds() - before;
        const auto free =
            std::count_if(all_.begin(), all_.end(), [this](RowIndex i) { return !problem_.at_bounds(i); });
        monitor_.report({epochs_, monitor_.seconds(), checked_.primal, checked_.dual, checked_.gap(), free, w});
    }

    Outcome best(std::vector<double>& w, Exit exit) {
        problem_.variables() = std::move(kept_);
        problem_.rebuild_weights(w);
        const Certificate exact = problem_.certify(w);
        return {exact, epochs_, exact.gap() <= options_.tol ? Exit::converged : exit, check_seconds_};
    }

    MulticlassProblem<Rows>& problem_;
    const Options& options_;
    Monitor& monitor_;
    Random random_;
    PagedShuffle shuffle_;
    Frequencies frequencies_;
    std::vector<RowIndex> all_, active_, schedule_;
    std::int64_t epochs_ = 0;
    double check_seconds_ = 0.0;
    double dual_ = 0.0;
    double trust_ = 1.0;  // exact gap / estimate of the loop, when both were last known
    Certificate checked_, best_;
    MulticlassVariables kept_;
};

}  // namespace maxmargin
