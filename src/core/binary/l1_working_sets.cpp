// Coordinate descent over working sets for |w|_1 (Johnson & Guestrin 2015; Massias, Gramfort & Salmon 2018). A
// certificate over all features gives feasible dual variables by scaling those of the slacks, and the conditions that
// are violated: their features and those in use are the next working set. Features that no optimum uses, as the gap
// proves (Gap Safe screening, Ndiaye et al. 2017), are set aside for good. Where features are many, C comes up in
// steps, and proximal steps over the rows take turns with the descent: they find the dual variables.
#include "binary/l1_working_sets.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

#include "binary/free_bias.hpp"
#include "binary/l1_columns.hpp"
#include "binary/l1_few_features.hpp"
#include "binary/l1_proximal.hpp"
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
          columns_(scales(), problem_.features() + 1),
          sub_(columns_, problem.loss.lower_per_C == 0.0 ? 0.0 : -infinity, problem.bias.free, limits.seed, monitor),
          proximal_(problem_, limits.seed, monitor),
          screened_(problem.features() + 1) {
        if (few_) {
            few_features_.emplace(problem_, monitor);
        }
    }

    Outcome run() {
        sub_.w = state_.bounds.weights();
        slack_.resize(problem_.size());
        if (few_ && is_cold()) {
            few_features_->start_from_sample(sub_.w);
        }
        const double pass = static_cast<double>(problem_.rows.stored() + problem_.size());
        double credit = 0.0;
        bool on_path = !few_ && is_cold();
        for (std::int64_t round = 0;; ++round) {
            const bool last = monitor_.look() || epochs_ >= limits_.max_iter || stalled_ >= most_stalled;
            const double before = state_.bounds.gap();
            find_slacks();
            if (!start_.empty()) {
                settle();
                start_.clear();
            }
            const double dual = state_.bounds.dual();
            certify();
            if (!on_path && !few_ && !ascended_ && state_.bounds.dual() > dual) {
                proximal_.alpha = variables_of_slacks();  // the best of these are where proximal steps start
            }
            bool converged = reached(state_, limits_.tol, monitor_);
            if (!converged && !on_path && !few_ && !state_.conflicts && !monitor_.ended()) {
                find_conflicts();
                converged = reached(state_, limits_.tol, monitor_);
            }
            if (!converged && !last && !few_ && credit >= 2.0 * static_cast<double>(proximal_epochs) * pass) {
                credit = 0.0;
                ascend();
                converged = reached(state_, limits_.tol, monitor_);
            }
            monitor_.report(epochs_, static_cast<double>(epochs_), in_use(), state_.bounds);
            if (converged || last || monitor_.ended()) {
                const Exit limit = stalled_ >= most_stalled ? Exit::budget : Exit::max_iter;
                return {converged ? Exit::converged : monitor_.ended() ? monitor_.exit() : limit, epochs_};
            }
            if (on_path) {
                on_path = false;
                follow_path();
                continue;
            }
            stalled_ = round > 0 && !(state_.bounds.gap() < before) ? stalled_ + 1 : 0;
            if (options_.screening && state_.bounds.gap() < screening_gap) {
                screen(state_.bounds.primal() - state_.bounds.dual());
            }
            choose();
            if (few_) {
                ++epochs_;
                few_features_->step(sub_.w, slack_, sums_, share_of_model * violation_);
                continue;
            }
            if (!columns_.fetch(problem_, set_, monitor_)) {
                continue;
            }
            look_near();
            credit += sub_.descend(set_, share_of_violation * violation_, most_passes * pass,
                                   std::min(most_epochs, limits_.max_iter - epochs_), state_.bounds.gap() < newton_gap);
            epochs_ += sub_.epochs();
        }
    }

  private:
    static constexpr double share_of_violation = 0.3;  // of all features, to which a working set is solved
    static constexpr double share_of_model = 0.1;      // the same for the quadratic model over few features
    static constexpr std::int64_t most_epochs = 60;    // for one working set
    static constexpr std::int64_t path_epochs = 3;     // for one value of C on the way
    static constexpr double path_factor = 3.0;         // from one value of C to the next
    static constexpr double most_passes = 5.0;         // over as many entries as the matrix has, for one working set
    static constexpr std::int64_t proximal_epochs = 5;
    // Of the factor that makes their variables feasible: when more epochs follow at once, and what they must gain.
    static constexpr double enough_of_size = 0.5, worth_more_epochs = 1.2;
    static constexpr double softness = 0.3;  // of a proximal step, in units of |w|_1 / |w|^2
    static constexpr double screening_gap = 0.01, newton_gap = 0.05;
    static constexpr int most_stalled = 30;
    static constexpr double promise = 3.0;            // of a sum of rows, at the weights zero
    static constexpr double worth_restricting = 0.8;  // of the rows
    static constexpr int most_retreats = 20;

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

    // Whether no weights are known to start from.
    bool is_cold() const {
        return std::all_of(sub_.w.begin(), sub_.w.end() - 1, [](double value) { return value == 0.0; });
    }

    // Without weights to start from, C comes up in steps: few features are in use while it is small, and each value
    // starts near its optimum. One more visit of all features comes at the end, in order, the bias last.
    void follow_path() {
        const std::vector<double> promises = find_promises();
        std::vector<std::uint32_t> features = above(promises, promise);
        if (!columns_.fetch(problem_, features, monitor_)) {
            return;
        }
        sub_.r.resize(problem_.size());
        for (std::size_t i = 0; i < problem_.size(); ++i) {
            sub_.r[i] = unit(problem_.variables[i]) * slack_[i];
        }
        sub_.strength = state_.regulariser().dual_norm(sums_);
        auto sweep = [&](std::int64_t most) {
            sub_.sweep(features, std::min(most, limits_.max_iter - epochs_));
            epochs_ += sub_.epochs();
        };
        while (sub_.strength > 1.0 && !monitor_.ended()) {
            sub_.strength = std::max(sub_.strength / path_factor, 1.0);
            features = above(promises, std::max(sub_.strength, promise));
            sweep(path_epochs);
        }
        sub_.strength = 1.0;
        sweep(1);
    }

    std::vector<double> variables_of_slacks() const {
        std::vector<double> alphas(problem_.size());
        for (std::size_t i = 0; i < problem_.size(); ++i) {
            const Variable& v = problem_.variables[i];
            alphas[i] = v.takes_part() ? problem_.loss.slope(slack_[i], v.C()) : 0.0;
        }
        return alphas;
    }

    // How large the sum of each feature may become on the way: that of its terms of one sign, as they are at the first
    // weights.
    std::vector<double> find_promises() {
        std::vector<double> sizes(problem_.features() + 1), alphas = variables_of_slacks();
        for (std::size_t i = 0; i < problem_.size(); ++i) {
            const double scale = unit(problem_.variables[i]);  // of the entries
            alphas[i] = scale > 0.0 ? std::abs(alphas[i]) / scale : 0.0;
        }
        columns_.count_entries(problem_, monitor_,
                               [&](std::size_t i, std::size_t j, double x) { sizes[j] += alphas[i] * std::abs(x); });
        for (std::size_t j = 0; j < problem_.features(); ++j) {
            sizes[j] = 0.5 * (sizes[j] + std::abs(sums_[j]));
        }
        return sizes;
    }

    // The features that promise more than a limit, or are near it at the first weights; the bias always.
    std::vector<std::uint32_t> above(const std::vector<double>& promises, double limit) const {
        std::vector<std::uint32_t> features;
        for (std::size_t j = 0; j < problem_.features(); ++j) {
            if (promises[j] > limit || std::abs(sums_[j]) > std::max(limit / promise, 1.0)) {
                features.push_back(static_cast<std::uint32_t>(j));
            }
        }
        if (problem_.bias.value != 0.0) {
            features.push_back(static_cast<std::uint32_t>(problem_.features()));
        }
        return features;
    }

    // The best variables so far, with equal rows of both labels at their best.
    void find_conflicts() {
        const Monitor::Checking checking(monitor_);
        state_.conflicts.emplace(problem_, monitor_);
        if (!state_.conflicts->empty()) {
            problem_.assign(state_.bounds.variables());
            state_.conflicts->improve(problem_.variables, problem_.loss);
            state_.bounds.offer_variables(problem_.dual_terms(),
                                          [&](std::vector<double>& best) { problem_.copy_alphas(best); });
        }
    }

    // A proximal step around the weights: its variables are offered, its weights taken where they are better.
    void ascend() {
        ascended_ = true;
        if (proximal_.alpha.empty()) {
            proximal_.alpha = variables_of_slacks();
        }
        double length = 0.0, square = 0.0;
        for (std::size_t j = 0; j < problem_.features(); ++j) {
            length += std::abs(sub_.w[j]);
            square += sub_.w[j] * sub_.w[j];
        }
        if (!(square > 0.0)) {
            return;
        }
        const double before = state_.bounds.primal();
        proximal_.begin(sub_.w, softness * length / square);
        double factor = 0.0, old;
        do {
            old = factor;
            const std::int64_t epochs = std::min(proximal_epochs, limits_.max_iter - epochs_);
            std::vector<double> sums;
            proximal_.sweep(epochs, sums);
            epochs_ += epochs;
            problem_.assign(proximal_.alpha);
            if (problem_.bias.free) {
                balance(problem_);
                problem_.sum_rows(sums);
            }
            factor = state_.offer_variables(problem_, sums);
        } while (factor < enough_of_size && factor > worth_more_epochs * old && epochs_ < limits_.max_iter &&
                 !monitor_.ended() && !(state_.bounds.gap() <= limits_.tol));
        if (monitor_.ended()) {
            return;
        }
        std::vector<double> w = proximal_.weights();
        w.swap(sub_.w);
        std::vector<double> old_slack = slack_, old_sums = sums_;
        find_slacks();
        certify();
        if (!(state_.bounds.primal() < before)) {
            sub_.w.swap(w);
            slack_.swap(old_slack);
            sums_.swap(old_sums);
        }
    }

    // Rows whose slack is so low that a descent like the last one leaves it negative have no part in the next one.
    void look_near() {
        start_ = sub_.w;
        start_slack_ = slack_;
        numbers_.resize(problem_.size());
        sub_.r.clear();
        std::size_t count = 0, all = 0;
        for (std::size_t i = 0; i < problem_.size(); ++i) {
            const Variable& v = problem_.variables[i];
            const bool near = v.takes_part() && (!problem_.loss.is_one_sided() || slack_[i] > -reach_ * change_);
            numbers_[i] = near ? static_cast<RowIndex>(count++) : L1Columns::no_row;
            all += v.takes_part() ? 1 : 0;
        }
        restricted_ = static_cast<double>(count) < worth_restricting * static_cast<double>(all);
        for (std::size_t i = 0; i < problem_.size(); ++i) {
            if (!restricted_ || numbers_[i] != L1Columns::no_row) {
                sub_.r.push_back(unit(problem_.variables[i]) * slack_[i]);
            }
        }
        if (restricted_) {
            columns_.restrict_to(set_, numbers_);
        } else {
            columns_.unrestrict(set_);
        }
    }

    // After a descent: goes back on its way as far as rows that it did not look at make it too long, and takes note of
    // how far slacks have moved.
    void settle() {
        auto value = [this](double t) {
            double length = 0.0, losses = 0.0;
            for (std::size_t j = 0; j < sub_.w.size(); ++j) {
                const double weight = start_[j] + t * (sub_.w[j] - start_[j]);
                length += problem_.bias.free && j == problem_.features() ? 0.0 : std::abs(weight);
            }
            for (std::size_t i = 0; i < problem_.size(); ++i) {
                const double C = problem_.variables[i].C();
                losses += C > 0.0 ? problem_.loss.primal(start_slack_[i] + t * (slack_[i] - start_slack_[i]), C) : 0.0;
            }
            return sub_.strength * length + losses;
        };
        double sum = 0.0;
        for (std::size_t i = 0; i < problem_.size(); ++i) {
            sum += (slack_[i] - start_slack_[i]) * (slack_[i] - start_slack_[i]);
        }
        change_ = std::sqrt(sum / static_cast<double>(problem_.size()));
        if (!restricted_) {
            return;
        }
        const double before = value(0.0);
        double t = 1.0;
        for (int trial = 0; trial < most_retreats && !(value(t) < before); ++trial) {
            t *= 0.5;
        }
        if (t < 1.0) {
            reach_ *= 2.0;
            for (std::size_t j = 0; j < sub_.w.size(); ++j) {
                sub_.w[j] = start_[j] + t * (sub_.w[j] - start_[j]);
            }
            find_slacks();
        }
    }

    void find_slacks() {
        const Monitor::Checking checking(monitor_);
        problem_.with_view([&](const auto& problem) {
            for (std::size_t i = 0; i < problem.size(); ++i) {
                slack_[i] = problem.variables[i].takes_part() ? problem.slack(i, sub_.w.data()) : 0.0;
            }
        });
    }

    // Both bounds at the weights as they are, whose slacks are known.
    void certify() {
        const Monitor::Checking checking(monitor_);
        offer_weights(sub_.w);
        if (problem_.bias.free) {
            balance(problem_);
        }
        problem_.sum_rows(sums_);
        state_.offer_variables(problem_, sums_);
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
        if (squares_.empty()) {
            squares_ = columns_.all_squares(problem_, monitor_);
        }
        problem_.assign(state_.bounds.variables());
        std::vector<double> sums;
        problem_.sum_rows(sums);
        const double radius = std::sqrt(2.0 * std::max(gap, 0.0));
        for (std::size_t j = 0; j < problem_.features(); ++j) {
            screened_[j] =
                screened_[j] || (sub_.w[j] == 0.0 && std::abs(sums[j]) + std::sqrt(squares_[j]) * radius < 1.0 - 1e-9);
        }
    }

    // The features in use, and those whose conditions are violated.
    void choose() {
        const std::size_t features = problem_.features();
        set_.clear();
        violation_ = 0.0;
        for (std::size_t j = 0; j < features; ++j) {
            const double own = L1Subproblem::violation(sub_.w[j], sums_[j], sub_.strength);
            violation_ = std::max(violation_, own);
            if (sub_.w[j] != 0.0 || (own > 0.0 && !screened_[j])) {
                set_.push_back(static_cast<std::uint32_t>(j));
            }
        }
        if (problem_.bias.value != 0.0) {
            set_.push_back(static_cast<std::uint32_t>(features));
        }
    }

    L1State& state_;
    BinaryProblem<Rows> problem_;
    const WorkingSetOptions& options_;
    const Limits& limits_;
    Monitor& monitor_;
    L1Columns columns_;
    L1Subproblem sub_;
    L1Proximal<Rows> proximal_;
    std::optional<L1FewFeatures<Rows>> few_features_;
    std::vector<char> screened_;
    std::vector<double> slack_, sums_, squares_, start_, start_slack_;
    std::vector<std::uint32_t> set_;
    std::vector<RowIndex> numbers_;  // of the rows that are looked at
    double change_ = infinity;       // of slacks, by the last descent
    double reach_ = 3.0;             // in such changes: how far below zero a slack is still looked at
    bool restricted_ = false, ascended_ = false;
    double violation_ = 0.0;
    std::int64_t epochs_ = 0;
    bool few_ = problem_.features() <= L1FewFeatures<Rows>::most_features;
    int stalled_ = 0;
};

}  // namespace

Outcome working_sets(L1State& state, const WorkingSetOptions& options, const Limits& limits, Monitor& monitor) {
    return state.visit([&]<class Rows>(const BinaryProblem<Rows>& problem) {
        monitor.expect_check(4.0 * static_cast<double>(problem.rows.stored()));  // slacks, and a sum of rows
        return WorkingSets<Rows>(state, problem, options, limits, monitor).run();
    });
}

}  // namespace maxmargin
