// Coordinate descent over working sets for |w|_1 (Johnson & Guestrin 2015; Massias, Gramfort & Salmon 2018). A
// certificate over all features gives feasible dual variables by scaling those of the slacks, and the distance of each
// feature to its constraint: the nearest ones are the next working set. Features farther from it than the gap allows
// any optimum to be (Gap Safe screening, Ndiaye et al. 2017) are set aside for good.
#include "binary/l1_working_sets.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "binary/free_bias.hpp"
#include "binary/l1_columns.hpp"
#include "binary/l1_subproblem.hpp"
#include "run/reached.hpp"

namespace maxmargin {
namespace {

template <RowSource Rows>
class WorkingSets {
  public:
    WorkingSets(L1State& state, BinaryProblem<Rows> problem, const WorkingSetOptions& options, const Limits& limits,
                Monitor& monitor)
        : state_(state),
          problem_(problem),
          options_(options),
          limits_(limits),
          monitor_(monitor),
          columns_(problem_, scales(), monitor),
          sub_(columns_, problem.loss.lower_per_C == 0.0 ? 0.0 : -infinity, problem.bias.free, limits.seed, monitor),
          screened_(problem.features() + 1) {}

    Outcome run() {
        sub_.w = state_.bounds.weights();
        slack_.resize(problem_.size());
        sub_.b.resize(problem_.size());
        sub_.r.resize(problem_.size());
        std::int64_t epochs = 0;
        for (std::int64_t round = 0;; ++round) {
            const bool last = monitor_.look() || epochs >= limits_.max_iter || stalled_ >= most_stalled;
            const double before = state_.bounds.gap();
            certify();
            const bool converged = reached(state_, limits_.tol, monitor_);
            monitor_.report(epochs, static_cast<double>(epochs), in_use(), state_.bounds);
            if (converged || last || monitor_.ended()) {
                const Exit limit = stalled_ >= most_stalled ? Exit::budget : Exit::max_iter;
                return {converged ? Exit::converged : monitor_.ended() ? monitor_.exit() : limit, epochs};
            }
            stalled_ = round > 0 && !(state_.bounds.gap() < before) ? stalled_ + 1 : 0;
            const double gap = state_.bounds.primal() - state_.bounds.dual();
            if (options_.screening) {
                screen(gap);
            }
            choose();
            if (!columns_.fetch(problem_, set_, monitor_)) {
                continue;
            }
            const double goal = std::max(limits_.tol * std::abs(state_.bounds.primal()), 0.0);
            epochs += sub_.descend(set_, 0.3 * goal, share_of_violation * violation_,
                                   std::min(most_epochs, limits_.max_iter - epochs));
        }
    }

  private:
    static constexpr double share_of_violation = 0.5;  // of all features, to which a working set is solved
    static constexpr std::int64_t most_epochs = 60;    // for one working set
    static constexpr std::size_t smallest_set = 128;
    static constexpr int most_stalled = 30;

    // Rows are measured in units of 1 / sqrt(D_ii).
    std::vector<double> scales() const {
        std::vector<double> scales(problem_.size());
        for (std::size_t i = 0; i < problem_.size(); ++i) {
            scales[i] = problem_.variables[i].sign() * unit(problem_.variables[i]);
        }
        return scales;
    }
    double unit(const Variable& v) const {
        return v.takes_part() ? std::sqrt(problem_.loss.inverse_diagonal(v.C())) : 0.0;
    }

    std::size_t in_use() const {
        return static_cast<std::size_t>(
            std::count_if(sub_.w.begin(), sub_.w.end(), [](double value) { return value != 0.0; }));
    }

    // Both bounds at the weights as they are, and what the sub-problem needs: slacks without the rounding errors of
    // many steps.
    void certify() {
        const Monitor::Checking checking(monitor_);
        std::vector<double>& w = sub_.w;
        for (std::size_t i = 0; i < problem_.size(); ++i) {
            slack_[i] = problem_.variables[i].takes_part() ? problem_.slack(i, w.data()) : 0.0;
        }
        offer_weights(w);
        if (problem_.bias.free) {
            balance(problem_);
        }
        problem_.sum_rows(sums_);
        factor_ = state_.offer_variables(problem_, sums_);
        for (std::size_t i = 0; i < problem_.size(); ++i) {
            const Variable& v = problem_.variables[i];
            const double scale = unit(v);
            sub_.b[i] = scale * v.target;
            sub_.r[i] = scale * slack_[i];
        }
    }

    // The weights with the best bias, if it is free, and the variables that their slacks ask for.
    void offer_weights(std::vector<double>& w) {
        const double bias = problem_.bias.value;
        double losses = 0.0;
        if (problem_.bias.free) {
            std::vector<BiasTerm> terms;
            for (std::size_t i = 0; i < problem_.size(); ++i) {
                const Variable& v = problem_.variables[i];
                if (v.takes_part()) {
                    terms.push_back({v.sign() * slack_[i] + bias * w.back(), v.C(), v.sign()});
                }
            }
            const BestBias best = find_best_bias(problem_.loss, terms, bias * w.back(), 0.0);
            losses = best.losses;
            const double change = best.bias - bias * w.back();
            for (std::size_t i = 0; i < problem_.size(); ++i) {
                slack_[i] -= problem_.variables[i].takes_part() ? problem_.variables[i].sign() * change : 0.0;
            }
            w.back() = best.bias / bias;
        }
        for (std::size_t i = 0; i < problem_.size(); ++i) {
            Variable& v = problem_.variables[i];
            if (v.takes_part()) {
                losses += problem_.bias.free ? 0.0 : problem_.loss.primal(slack_[i], v.C());
                v.alpha = problem_.loss.slope(slack_[i], v.C());
            }
        }
        state_.offer_weights(w, losses);
    }

    // No optimum of the scaled variables is farther from those of the best bound than sqrt(2 gap), so that the sum of a
    // feature moves by at most that times its norm.
    void screen(double gap) {
        const double radius = std::sqrt(2.0 * std::max(gap, 0.0));
        for (std::size_t j = 0; j < problem_.features(); ++j) {
            if (!screened_[j] && factor_ * std::abs(sums_[j]) + std::sqrt(columns_.square(j)) * radius < 1.0 - 1e-9 &&
                sub_.w[j] == 0.0) {
                screened_[j] = true;
            }
        }
    }

    // The features in use, and as many more of those nearest to their constraints.
    void choose() {
        const std::size_t features = problem_.features();
        set_.clear();
        ranked_.clear();
        violation_ = 0.0;
        std::size_t violated = 0;
        for (std::size_t j = 0; j < features; ++j) {
            const double own = L1Subproblem::violation(sub_.w[j], sums_[j], 1.0);
            violation_ = std::max(violation_, own);
            violated += own > 0.0 ? 1 : 0;
            if (sub_.w[j] != 0.0) {
                set_.push_back(static_cast<std::uint32_t>(j));
            } else if (!screened_[j] && columns_.square(j) > 0.0) {
                const double distance = (1.0 - factor_ * std::abs(sums_[j])) / std::sqrt(columns_.square(j));
                ranked_.push_back({distance, static_cast<std::uint32_t>(j)});
            }
        }
        const std::size_t more = std::min(std::max({smallest_set, set_.size(), violated / 4}), ranked_.size());
        if (more < ranked_.size()) {
            std::nth_element(ranked_.begin(), ranked_.begin() + static_cast<std::ptrdiff_t>(more), ranked_.end());
        }
        for (std::size_t p = 0; p < more; ++p) {
            set_.push_back(ranked_[p].feature);
        }
        std::sort(set_.begin(), set_.end());
        if (problem_.bias.value != 0.0) {
            set_.push_back(static_cast<std::uint32_t>(features));
        }
    }

    struct Ranked {
        double distance;
        std::uint32_t feature;
        bool operator<(const Ranked& other) const {
            return distance != other.distance ? distance < other.distance : feature < other.feature;
        }
    };

    L1State& state_;
    BinaryProblem<Rows> problem_;
    const WorkingSetOptions& options_;
    const Limits& limits_;
    Monitor& monitor_;
    L1Columns columns_;
    L1Subproblem sub_;
    std::vector<char> screened_;
    std::vector<double> slack_, sums_;
    std::vector<std::uint32_t> set_;
    std::vector<Ranked> ranked_;
    double factor_ = 0.0, violation_ = 0.0;
    int stalled_ = 0;
};

}  // namespace

Outcome working_sets(L1State& state, const WorkingSetOptions& options, const Limits& limits, Monitor& monitor) {
    return state.visit([&]<class Rows>(const BinaryProblem<Rows>& problem) {
        return WorkingSets<Rows>(state, problem, options, limits, monitor).run();
    });
}

}  // namespace maxmargin
