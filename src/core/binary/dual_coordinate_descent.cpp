// Dual coordinate descent (Hsieh et al. 2008): sweeps over the rows, and an exact certificate from time to time. What
// makes it Algorithm 1, Algorithm 2 or adaptive frequencies (Glasmachers & Dogan) is the order alone.
//
// The rows may be the user's or a packed copy of them (packed_rows.hpp), which is the same problem with other columns.
// The bounds are those of the user's columns, so weights are expanded when they are offered.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "binary/anchored_bias.hpp"
#include "binary/certificate.hpp"
#include "binary/dual_plane.hpp"
#include "binary/dual_sweep.hpp"
#include "binary/free_bias.hpp"
#include "binary/iterate_average.hpp"
#include "binary/methods.hpp"
#include "binary/orders.hpp"
#include "binary/primal_line.hpp"
#include "binary/team_sweep.hpp"
#include "run/pace.hpp"
#include "run/random.hpp"
#include "run/reached.hpp"

namespace maxmargin {
namespace {

class DualCoordinateDescent {
  public:
    DualCoordinateDescent(BinaryState& state, const SweptRows& rows, RowOrder& order, const DescentOptions& options,
                          const Limits& limits, Monitor& monitor)
        : state_(state),
          problem_{rows, state.variables, state.loss, state.bias},
          exact_(rows.is_exact()),
          order_(order),
          options_(options),
          limits_(limits),
          monitor_(monitor),
          random_(limits.seed),
          bias_(state.variables, state.loss, state.bias, options.anchoring || state.bias.free),
          averages_(order.wanders() && options.averaging),
          sweep_(rows, state.variables, state.loss, state.bias.value, {bias_.step(), bias_.curvature()}),
          plane_(sweep_, state.variables, monitor.team()) {}

    Outcome run() {
        start();
        const double pass_cost = sweep_.pass_cost();
        const double line = options_.plane ? line_cost * static_cast<double>(problem_.size()) : 0.0;
        CheckBudget checks(check_share, (state_.bias.free ? 2.0 * pass_cost : pass_cost) + line);
        monitor_.expect_check(pass_cost);
        double hidden_gap = 0.0, previous = infinity;
        double trust = 1.0;  // exact gap / estimate of the sweep, when both were last known
        // Rows that are visited by their gains already move together, and with curved losses another method soon has
        // its turn; but where variables have far to go to their bounds, steps in a plane take them there.
        const bool steps_in_plane = options_.plane && (!order_.wanders() || problem_.loss.is_hinge());
        // Where epochs overshoot, weights may be worse than those of some epoch before. Where none goes without a
        // certificate, more of them never end worse.
        const bool few = limits_.max_iter <= few_epochs || problem_.rows.stored() <= few_values;
        const bool every_epoch = few && plane_.hardness() > overshooting;
        double work = pass_cost;  // of the last epoch
        Visits visits;
        while (true) {
            if (steps_in_plane) {
                plane_.begin(w_, work);
            }
            const SweepResult sweep = this->sweep(visits);
            ++epochs_;
            order_.end_epoch(visits);
            work = sweep.work;
            double steps = static_cast<double>(visits.count);
            dual_ += steps_in_plane ? plane_.take(w_, sweep.gain, steps) : sweep.gain;
            steps_ += steps;
            bias_.end_epoch(w_.back());
            if (averages_) {
                average_.add(w_);
            }
            checks.work(sweep.work);
            passes_ += sweep.work / pass_cost;
            const bool solved = options_.epsilon > 0.0 && visits.highest - visits.lowest <= options_.epsilon;
            const bool all_solved = solved && order_.active() == count_;
            const bool last = monitor_.look() || epochs_ >= limits_.max_iter || all_solved;
            bool due = last || passes_ >= limits_.max_passes || checks.enough() || monitor_.report_due(passes_);
            if (order_.visits_every_active_row_once()) {
                const double gap = trust * sweep.gap + hidden_gap;
                due = due || gap <= limits_.tol * std::abs(dual_ + gap) || sweep.gap < 0.1 * hidden_gap;
            } else {
                // The rows that were visited have nothing more to gain; others may be hidden.
                due = due || sweep.gap <= 0.1 * limits_.tol * std::abs(dual_);
            }
            if (!due && !every_epoch) {
                if (solved) {
                    order_.restart();
                }
                continue;
            }
            if (due) {
                checks.spend();
            }
            const Evaluation now = evaluate(last || every_epoch);
            hidden_gap = now.hidden_gap;
            const double difference = now.primal - now.dual;
            if (sweep.gap > 0.0) {
                // A single iterate may be much worse than the sweep says; the next ones are not.
                trust = std::clamp((difference - hidden_gap) / sweep.gap, 0.1, 1.0);
            }
            const bool averaged = averages_ && gap_now() > limits_.tol && average_is_better(now.primal);
            const bool converged = is_verified();
            if (converged || monitor_.wants_weights()) {
                settle();
            }
            const double gap = gap_now();
            if (due || converged) {
                monitor_.report(epochs_, passes_, order_.active(), Seen{best_primal(), state_.bounds});
            }
            if (converged) {
                return {Exit::converged, epochs_};
            }
            if (monitor_.ended()) {
                return {monitor_.exit(), epochs_};
            }
            if (all_solved) {
                return {Exit::epsilon, epochs_};
            }
            pace_.add(passes_, gap);
            if (passes_ >= limits_.max_passes || pace_.too_slow(limits_.tol, limits_.worth) ||
                pace_.stalls(limits_.tol, limits_.patience, most_passes())) {
                return {Exit::budget, epochs_};
            }
            if (epochs_ >= limits_.max_iter) {
                return {Exit::max_iter, epochs_};
            }
            const bool stuck = bias_.anchored() && difference > 0.9 * previous;  // the anchor may have left hidden rows
            previous = difference;
            const bool take_back = hidden_gap > 0.5 * difference || sweep.gain <= 0.0 || stuck;
            if (options_.epsilon > 0.0 ? solved : take_back) {
                order_.restart();
                hidden_gap = 0.0;
            }
            plan_average(averaged, gap);
        }
    }

    // The best weights of the descent are offered to the bounds.
    void settle() {
        if (!(line_.primal() < state_.bounds.primal())) {
            return;
        }
        const bool packed = problem_.rows.is_packed();
        if (packed) {
            problem_.rows.expand(line_.weights(), sums_);
        }
        state_.bounds.offer_weights(line_.primal(), packed ? sums_ : line_.weights(),
                                    exact_ ? line_.error() : infinity);
    }

  private:
    static constexpr double line_cost = 15.0;    // of a search on a line, in stored values for each row
    static constexpr double check_share = 0.12;  // of the work, for certificates
    static constexpr std::int64_t few_epochs = 20;
    static constexpr std::size_t few_values = 20'000;
    static constexpr double overshooting = 100.0;   // mean C times curvature
    static constexpr int most_without_average = 3;  // certificates
    static constexpr double far = 0.1;              // a gap at which means are always worth a try
    static constexpr double near = 4.0;             // tolerances, at which the best bias is worth a search
    static constexpr double most_drift = 0.01;      // of the gap, by the rounding of steps
    static constexpr double unseen = 5e-11;         // of the objective, an error that need not be computed away
    static constexpr double negligible = 5e-8;      // the same, of the tolerance

    struct Evaluation {
        double primal;
        double dual;
        double hidden_gap;
    };

    // The best bounds so far for a report, before the weights are expanded.
    struct Seen {
        double best;
        const Bounds<std::vector<double>>& bounds;

        double primal() const { return best; }
        double dual() const { return bounds.dual(); }
        double gap() const { return relative_gap(best, bounds.dual()); }
        const std::vector<double>& weights() const { return bounds.weights(); }
    };

    // What is worth waiting for before another method has its turn: with the hinge, where others are dear, twice what
    // has passed; with curved losses twice the patience.
    double most_passes() const {
        return 2.0 * (problem_.loss.is_hinge() ? std::max(limits_.patience, passes_) : limits_.patience);
    }

    SweepResult sweep(Visits& visits) {
        const std::span<const RowIndex> schedule = order_.schedule(random_);
        const bool with_gains = order_.asks_for_gains();
        return shared_ ? shared_->run(schedule, order_.rule(), with_gains, w_.data(), visits, monitor_)
                       : sweep_.run(schedule, order_.rule(), with_gains, w_.data(), visits, monitor_);
    }

    double best_primal() const { return std::min(state_.bounds.primal(), line_.primal()); }
    double gap_now() const { return relative_gap(best_primal(), state_.bounds.dual()); }

    void start() {
        if (monitor_.team() != nullptr && problem_.rows.parts() > 1) {
            shared_.emplace(sweep_, state_.variables, *monitor_.team(), options_.parts == 0);
        }
        count_ = order_.active();
        dual_ = state_.bounds.dual();
        problem_.assign(state_.bounds.variables());
        problem_.sum_rows(w_);
        if (bias_.anchored()) {
            // Of variables that are not yet optimal, the bias is a large multiple of a small difference; the best one
            // for the weights is a better anchor. Of targets to predict it takes away what they have in common.
            const bool warm = std::any_of(problem_.variables.begin(), problem_.variables.end(),
                                          [](const Variable& v) { return v.alpha != 0.0; });
            if (warm || (problem_.bias.free && !problem_.loss.is_one_sided())) {
                set_best_bias(problem_, w_);
            }
            bias_.start(state_.variables, w_.back());
        }
    }

    // Both values of the iterate, which is offered to the bounds. The bias of the weights may be another one than that
    // of the variables: two bounds need not belong together.
    Evaluation evaluate(bool last) {
        const Monitor::Checking checking(monitor_);
        const Losses losses =
            losses_at(problem_, w_, [this](std::size_t i) { return order_.hidden(i); }, slacks_, monitor_.team());
        Evaluation now{problem_.regulariser().value(w_) + losses.sum.value(), 0.0, losses.hidden_gap};
        offer_weights(now.primal, w_);
        if (!problem_.bias.free) {
            const double own = problem_.bias.value * problem_.imbalance();
            const double square = Regulariser{true}.dot(w_, w_) + own * own;
            now.dual = problem_.dual_terms() - 0.5 * square;
            double drift = drift_of_dual(steps_, std::sqrt(square), longest_term(problem_));
            if (drift > most_drift * std::abs(now.primal - now.dual)) {
                sum_up();
                now.dual = dual_value(problem_, sums_, monitor_.team());
                drift = 0.0;
            }
            best_are_current_ = state_.offer_variables(now.dual, problem_, exact_ ? drift : infinity);
        } else {
            problem_.copy_alphas(kept_);
            balance(problem_);
            now.dual = dual_value(problem_, sums_, monitor_.team());
            state_.offer_variables(now.dual, problem_);
            problem_.assign(kept_);
            if (last || gap_now() <= near * limits_.tol) {
                sums_ = w_;
                const double losses_there = set_best_bias(problem_, sums_);
                const double moved = problem_.bias.value * (sums_.back() - w_.back());
                for (std::size_t i = 0; i < slacks_.size(); ++i) {
                    slacks_[i] -= problem_.variables[i].sign() * moved;
                }
                line_.keep(problem_.regulariser().value(sums_) + losses_there, sums_, slacks_);
            }
        }
        dual_ = now.dual;
        return now;
    }

    // Weights, the slacks of which are at hand.
    void offer_weights(double primal, const std::vector<double>& w) {
        if (options_.plane) {
            line_.add(primal, w, slacks_, problem_.variables, problem_.loss, problem_.regulariser(), monitor_.team());
        } else {
            line_.keep(primal, w, slacks_);
        }
    }

    // Whether the gap is within the tolerance without the rounding errors of many steps. If not, the descent goes on
    // without them.
    bool is_verified() {
        if (gap_now() > limits_.tol) {
            return false;
        }
        settle();
        line_.forget();  // its value may turn out to have been off
        if (exact_ && best_are_current_ && !problem_.bias.free && !(state_.bounds.dual_error() <= negligible_error())) {
            // A sum without the rounding of steps costs less here than on rows that are not packed.
            const Monitor::Checking checking(monitor_);
            state_.bounds.revise_dual(dual_value(problem_, sums_, monitor_.team()));
        }
        if (reached(state_, limits_.tol, monitor_)) {
            return true;
        }
        sum_up();
        return false;
    }

    // An error of the dual value that is too small beside the tolerance to be computed away.
    double negligible_error() const {
        return std::min(unseen, negligible * limits_.tol) * std::abs(state_.bounds.primal());
    }

    // The weights without the rounding errors of many steps.
    void sum_up() {
        const double bias = w_.back();
        problem_.sum_rows(w_);
        steps_ = 0.0;
        if (bias_.anchored()) {
            w_.back() = bias;
        }
    }

    // Whether the mean of the iterates since the last certificate has a lower primal value than the last one.
    bool average_is_better(double primal) {
        if (average_.count() < 2) {
            return false;
        }
        const Monitor::Checking checking(monitor_);
        const std::vector<double> mean = average_.mean();
        const double losses =
            losses_at(problem_, mean, [](std::size_t) { return false; }, slacks_, monitor_.team()).sum.value();
        const double value = problem_.regulariser().value(mean) + losses;
        offer_weights(value, mean);
        return value < primal;
    }

    // Means are taken while they help or the optimum is far, and otherwise tried now and then.
    void plan_average(bool helped, double gap) {
        average_.forget();
        without_average_ = averages_ ? 0 : without_average_ + 1;
        averages_ =
            order_.wanders() && options_.averaging && (helped || gap > far || without_average_ >= most_without_average);
    }

    BinaryState& state_;
    BinaryProblem<SweptRows> problem_;
    bool exact_;  // whether the rows have the user's values
    RowOrder& order_;
    const DescentOptions& options_;
    const Limits& limits_;
    Monitor& monitor_;
    Random random_;
    AnchoredBias bias_;
    IterateAverage average_;
    bool averages_;
    DualSweep sweep_;
    DualPlane plane_;
    PrimalLine line_;
    std::optional<TeamSweep> shared_;
    int without_average_ = 0;  // certificates
    std::vector<double> w_, sums_, kept_, slacks_;
    bool best_are_current_ = false;  // whether the best variables are those of the last certificate
    double steps_ = 0.0;             // since the weights were last summed up
    double dual_ = 0.0;              // of the variables, as far as it is known
    double passes_ = 0.0;
    std::int64_t epochs_ = 0;
    std::size_t count_ = 0;  // rows that take part
    Pace pace_;
};

std::unique_ptr<RowOrder> make_order(const BinaryState& state, const DescentOptions& options) {
    std::vector<RowIndex> rows = rows_taking_part(state.variables);
    const std::size_t size = state.variables.size();
    if (options.order == OrderName::uniform) {
        return std::make_unique<Uniform>(std::move(rows));
    }
    const UserRows& own = state.rows().rows();
    const Mixing mixing = options.order == OrderName::cyclic     ? Mixing::none
                          : options.order == OrderName::shuffled ? Mixing::all
                                                                 : good_mixing(own);
    const Shuffle shuffle(mixing, row_bytes(own));
    if (options.order == OrderName::adaptive) {
        return std::make_unique<Adaptive>(std::move(rows), size, options.shrinking, shuffle);
    }
    return std::make_unique<Permuted>(std::move(rows), size, options.shrinking, options.resting, shuffle);
}

}  // namespace

Outcome dual_coordinate_descent(BinaryState& state, const DescentOptions& options, const Limits& limits,
                                Monitor& monitor) {
    const std::unique_ptr<RowOrder> order = make_order(state, options);
    constexpr double seconds_per_value = 1.5e-8;  // to pack it, which cannot be interrupted
    const bool in_time = seconds_per_value * static_cast<double>(state.rows().stored()) <= 0.2 * monitor.time_left();
    // Several threads share the sweeps over packed rows.
    Team* const team = monitor.team();
    const bool shares = team != nullptr && options.order != OrderName::uniform;
    const ColumnParts parts = shares ? TeamSweep::parts_of(state.rows().rows(), options.parts) : ColumnParts{};
    const SweptRows rows = state.rows().swept(options.pack && in_time, limits.tol < exact_below, parts,
                                              parts.count() > 1 ? team : nullptr);
    state.parts = rows.parts();
    DualCoordinateDescent descent(state, rows, *order, options, limits, monitor);
    const Outcome outcome = descent.run();
    descent.settle();
    return outcome;
}

}  // namespace maxmargin
