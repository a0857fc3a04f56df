// Online exponentiated gradient for the Crammer-Singer dual (Collins et al., JMLR 2008), the rival of section 2.3 of
// Keerthi et al. The variables of a row are C times shares of all classes, its own included, that add up to 1. A step
// multiplies them by exponentials of the slacks, with a rate of its own for each row that is halved until the dual
// grows and then raised a little. No share ever becomes zero, so there is nothing to shrink, and memory is rows times
// classes.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "multiclass/methods.hpp"
#include "run/pace.hpp"
#include "run/random.hpp"
#include "run/reached.hpp"

namespace maxmargin {
namespace {

template <RowSource Rows>
class ExponentiatedGradient {
  public:
    ExponentiatedGradient(MulticlassState& state, MulticlassProblem<Rows>& problem, const Limits& limits,
                          Monitor& monitor)
        : state_(state),
          problem_(problem),
          limits_(limits),
          monitor_(monitor),
          random_(limits.seed),
          classes_(problem.classes()),
          all_(rows_taking_part(problem.variables().rows)) {
        problem_.variables() = state_.bounds.variables();
    }

    Outcome run() {
        std::vector<double> w;
        monitor_.expect_check(check_passes * problem_.pass_cost() / class_block);
        if (!start()) {
            return {monitor_.exit(), 0};
        }
        set_variables();
        problem_.rebuild_weights(w);
        CheckBudget checks(check_share, 1.0);
        for (std::int64_t epoch = 1;; ++epoch) {
            for (std::size_t step = 0; step < all_.size(); ++step) {
                const std::size_t i = all_[random_.below(static_cast<std::uint32_t>(all_.size()))];
                visit(i, w.data());
                if (monitor_.poll(problem_.visit_cost(i) / class_block)) {
                    break;
                }
            }
            checks.work(1.0);
            const auto passes = static_cast<double>(epoch);
            const bool last = monitor_.look() || epoch >= limits_.max_iter;
            if (!last && !checks.enough() && !monitor_.report_due(passes)) {
                continue;
            }
            checks.spend();
            {
                const Monitor::Checking checking(monitor_);
                set_variables();
                problem_.rebuild_weights(w);
                state_.bounds.offer_weights(problem_.primal(w, monitor_.team()), w);
                state_.offer_variables(problem_.dual(w));
            }
            const bool converged = reached(state_, limits_.tol, monitor_);
            monitor_.report(epoch, passes, all_.size(), state_.bounds);
            if (converged || last || monitor_.ended()) {
                return {converged ? Exit::converged : monitor_.ended() ? monitor_.exit() : Exit::max_iter, epoch};
            }
        }
    }

  private:
    static constexpr double check_share = 0.12;  // of the work, for certificates
    static constexpr double check_passes = 2.0;  // what a certificate costs: all shares become variables
    static constexpr double start_share = 0.01;  // of the classes that have no share at the start, together
    static constexpr double lowest_log = -60.0;  // smaller shares matter to no sum, and would take long to come back
    static constexpr double raise = 1.05;
    static constexpr double highest_rate = 100.0, lowest_rate = 1e-4;  // times the first one
    static constexpr double rounding = 1e-14;
    static constexpr int most_halvings = 10;

    MulticlassRow& row(std::size_t i) { return problem_.variables().rows[i]; }

    // Where a share of 1 would move by about the length of an exact step.
    static double first_rate(const MulticlassRow& r) { return r.curvature > 0.0 ? 1.0 / (r.curvature * r.C) : 1.0; }

    // The shares of the problem's variables, mixed with equal ones, since a share of zero could never grow. False when
    // time has run out.
    bool start() {
        const auto k = static_cast<double>(classes_);
        logs_.resize(problem_.size() * classes_);
        rates_.resize(problem_.size());
        before_.resize(classes_);
        after_.resize(classes_);
        changes_.resize(classes_);
        for (const RowIndex i : all_) {
            const MulticlassRow& r = row(i);
            rates_[i] = first_rate(r);
            std::fill(before_.begin(), before_.end(), 0.0);
            before_[r.label] = std::max(0.0, 1.0 - r.sum / r.C);
            for (const ClassValue& v : problem_.variables().list(i)) {
                before_[v.which] = v.value / r.C;
            }
            for (std::size_t m = 0; m < classes_; ++m) {
                logs_[i * classes_ + m] = std::log((1.0 - start_share) * before_[m] + start_share / k);
            }
            if (monitor_.poll(problem_.visit_cost(i) / class_block)) {
                return false;
            }
        }
        return true;
    }

    void visit(std::size_t i, double* w) {
        const MulticlassRow& r = row(i);
        const std::span<const double> scores = problem_.scores(i, w);
        double* logs = logs_.data() + i * classes_;
        for (std::size_t m = 0; m < classes_; ++m) {
            before_[m] = std::exp(logs[m]);
        }
        for (int halving = 0; halving < most_halvings; ++halving) {
            // The slack of the own class is 0, that of another 1 - (its distance to the own one).
            double largest = -infinity, total = 0.0;
            for (std::size_t m = 0; m < classes_; ++m) {
                const double slack = m == r.label ? 0.0 : 1.0 - scores[r.label] + scores[m];
                after_[m] = logs[m] + rates_[i] * slack;
                largest = std::max(largest, after_[m]);
            }
            for (std::size_t m = 0; m < classes_; ++m) {
                total += std::exp(after_[m] - largest);
            }
            const double shift = largest + std::log(total);
            double linear = 0.0, size = 0.0, squares = 0.0, sum = 0.0;
            for (std::size_t m = 0; m < classes_; ++m) {
                after_[m] = std::max(after_[m] - shift, lowest_log);
                if (m != r.label) {
                    const double share = std::exp(after_[m]), slack = 1.0 - scores[r.label] + scores[m];
                    const double change = r.C * (share - before_[m]);
                    linear += change * slack;
                    size += r.C * (share + before_[m]) * std::abs(slack);
                    squares += change * change;
                    sum += change;
                    changes_[m] = -change;
                }
            }
            changes_[r.label] = sum;
            if (linear - 0.5 * r.curvature * (squares + sum * sum) >= -rounding * size) {
                std::copy(after_.begin(), after_.end(), logs);
                problem_.add(i, changes_, w);
                rates_[i] = std::min(raise * rates_[i], highest_rate * first_rate(r));
                return;
            }
            rates_[i] = std::max(0.5 * rates_[i], lowest_rate * first_rate(r));
        }
    }

    // From shares to lists.
    void set_variables() {
        for (const RowIndex i : all_) {
            const MulticlassRow& r = row(i);
            list_.clear();
            double total = 0.0;
            for (std::uint32_t m = 0; m < classes_; ++m) {
                const double share = std::exp(logs_[i * classes_ + m]);
                total += share;
                if (m != r.label) {
                    list_.push_back({m, share});
                }
            }
            for (ClassValue& v : list_) {
                v.value *= r.C / total;  // the shares add up to 1 but for rounding
            }
            problem_.variables().assign(i, list_);
        }
    }

    MulticlassState& state_;
    MulticlassProblem<Rows>& problem_;
    const Limits& limits_;
    Monitor& monitor_;
    Random random_;
    std::size_t classes_;
    std::vector<RowIndex> all_;
    std::vector<double> logs_;   // of the shares, rows times classes
    std::vector<double> rates_;  // one per row
    std::vector<double> before_, after_, changes_;
    std::vector<ClassValue> list_;
};

}  // namespace

Outcome exponentiated_gradient(MulticlassState& state, const Limits& limits, Monitor& monitor) {
    return state.visit([&]<class Rows>(MulticlassProblem<Rows>& problem) {
        return ExponentiatedGradient<Rows>(state, problem, limits, monitor).run();
    });
}

}  // namespace maxmargin
