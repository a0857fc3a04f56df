// Dual coordinate descent (Hsieh et al. 2008): sweeps over the rows, and an exact certificate from time to time. What
// makes it Algorithm 1, Algorithm 2 or adaptive frequencies (Glasmachers & Dogan) is the order alone.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "binary/anchored_bias.hpp"
#include "binary/certificate.hpp"
#include "binary/dual_sweep.hpp"
#include "binary/free_bias.hpp"
#include "binary/iterate_average.hpp"
#include "binary/methods.hpp"
#include "binary/orders.hpp"
#include "run/pace.hpp"
#include "run/random.hpp"
#include "run/reached.hpp"

namespace maxmargin {
namespace {

template <RowSource Rows, RowOrder Order>
class DualCoordinateDescent {
  public:
    DualCoordinateDescent(BinaryState& state, BinaryProblem<Rows> problem, Order order, const DescentOptions& options,
                          const Limits& limits, Monitor& monitor)
        : state_(state),
          problem_(problem),
          order_(std::move(order)),
          options_(options),
          limits_(limits),
          monitor_(monitor),
          random_(limits.seed),
          bias_(problem, options.anchoring || problem.bias.free),
          averages_(Order::wanders && options.averaging) {}

    Outcome run() {
        start();
        const DualSweep<Rows> sweeper(problem_, {bias_.step(), bias_.curvature()});
        const double pass_cost = DualSweep<Rows>::pass_cost(problem_);
        CheckBudget checks(check_share, problem_.bias.free ? 2.0 * pass_cost : pass_cost);
        monitor_.expect_check(pass_cost);
        double hidden_gap = 0.0, previous = infinity;
        double trust = 1.0;  // exact gap / estimate of the sweep, when both were last known
        while (true) {
            const SweepResult sweep = sweeper.run(order_.schedule(random_), order_, w_.data(), monitor_);
            ++epochs_;
            order_.end_epoch();
            dual_ += sweep.gain;
            bias_.end_epoch(w_.back());
            if (averages_) {
                average_.add(w_);
            }
            checks.work(sweep.work);
            passes_ += sweep.work / pass_cost;
            const bool solved = options_.epsilon > 0.0 && order_.violation() <= options_.epsilon;
            const bool all_solved = solved && order_.active() == count_;
            const bool last = monitor_.look() || epochs_ >= limits_.max_iter || all_solved;
            bool check = last || passes_ >= limits_.max_passes || checks.enough() || monitor_.report_due(passes_);
            if constexpr (Order::visits_every_active_row_once) {
                const double gap = trust * sweep.gap + hidden_gap;
                check = check || gap <= limits_.tol * std::abs(dual_ + gap) || sweep.gap < 0.1 * hidden_gap;
            }
            if (!check) {
                if (solved) {
                    order_.restart();
                }
                continue;
            }
            checks.spend();
            const Evaluation now = evaluate(last);
            hidden_gap = now.hidden_gap;
            const double difference = now.primal - now.dual;
            if (sweep.gap > 0.0) {
                const double most = bias_.anchored() ? infinity : 1.0;  // the sweep knows nothing of the anchor
                trust = std::clamp((difference - hidden_gap) / sweep.gap, 0.1, most);
            }
            const bool averaged = averages_ && state_.bounds.gap() > limits_.tol && average_is_better(now.primal);
            const bool converged = is_verified();
            const double gap = state_.bounds.gap();
            monitor_.report(epochs_, passes_, order_.active(), state_.bounds);
            if (converged) {
                return {Exit::converged, epochs_};
            }
            if (monitor_.ended()) {
                return {monitor_.exit(), epochs_};
            }
            if (all_solved) {
                return {Exit::epsilon, epochs_};
            }
            pace_in_passes_.add(passes_, gap);
            pace_in_epochs_.add(static_cast<double>(epochs_), gap);
            if (passes_ >= limits_.max_passes || pace_in_passes_.too_slow(limits_.tol, limits_.worth) ||
                pace_in_epochs_.stalls(limits_.tol, limits_.patience)) {
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

  private:
    static constexpr double check_share = 0.12;     // of the work, for certificates
    static constexpr int most_without_average = 3;  // certificates
    static constexpr double far = 0.1;              // a gap at which means are always worth a try
    static constexpr double near = 4.0;             // tolerances, at which the best bias is worth a search

    struct Evaluation {
        double primal;
        double dual;
        double hidden_gap;
    };

    void start() {
        problem_.assign(state_.bounds.variables());
        count_ = order_.active();
        dual_ = state_.bounds.dual();
        problem_.sum_rows(w_);
        if (bias_.anchored()) {
            // Of variables that are not yet optimal, the bias is a large multiple of a small difference; the best one
            // for the weights is a better anchor.
            const bool warm = std::any_of(problem_.variables.begin(), problem_.variables.end(),
                                          [](const Variable& v) { return v.alpha != 0.0; });
            if (warm) {
                set_best_bias(problem_, w_);
            }
            bias_.start(problem_, w_.back());
        }
    }

    // Both values of the iterate, which is offered to the bounds. The bias of the weights may be another one than that
    // of the variables: two bounds need not belong together.
    Evaluation evaluate(bool last) {
        const Monitor::Checking checking(monitor_);
        const Losses losses = losses_at(problem_, w_, [this](std::size_t i) { return order_.hidden(i); });
        Evaluation now{problem_.regulariser().value(w_) + losses.sum.value(), 0.0, losses.hidden_gap};
        state_.bounds.offer_weights(now.primal, w_);
        if (!problem_.bias.free) {
            const double own = problem_.bias.value * problem_.imbalance();
            now.dual = problem_.dual_terms() - 0.5 * (Regulariser{true}.dot(w_, w_) + own * own);
            state_.offer_variables(now.dual, problem_);
        } else {
            problem_.copy_alphas(kept_);
            balance(problem_);
            now.dual = dual_value(problem_, sums_);
            state_.offer_variables(now.dual, problem_);
            problem_.assign(kept_);
            if (last || state_.bounds.gap() <= near * limits_.tol) {
                sums_ = w_;
                const double best = set_best_bias(problem_, sums_);
                state_.bounds.offer_weights(problem_.regulariser().value(sums_) + best, sums_);
            }
        }
        dual_ = now.dual;
        return now;
    }

    // Whether the gap is within the tolerance without the rounding errors of many steps. If not, the descent goes on
    // without them.
    bool is_verified() {
        if (state_.bounds.gap() > limits_.tol || reached(state_, limits_.tol, monitor_)) {
            return state_.bounds.gap() <= limits_.tol;
        }
        const double bias = w_.back();
        problem_.sum_rows(w_);
        if (bias_.anchored()) {
            w_.back() = bias;
        }
        return false;
    }

    // Whether the mean of the iterates since the last certificate has a lower primal value than the last one.
    bool average_is_better(double primal) {
        if (average_.count() < 2) {
            return false;
        }
        const Monitor::Checking checking(monitor_);
        const std::vector<double> mean = average_.mean();
        const double value = primal_value(problem_, mean);
        state_.bounds.offer_weights(value, mean);
        return value < primal;
    }

    // Means are taken while they help or the optimum is far, and otherwise tried now and then.
    void plan_average(bool helped, double gap) {
        average_.forget();
        without_average_ = averages_ ? 0 : without_average_ + 1;
        averages_ =
            Order::wanders && options_.averaging && (helped || gap > far || without_average_ >= most_without_average);
    }

    BinaryState& state_;
    BinaryProblem<Rows> problem_;
    Order order_;
    const DescentOptions& options_;
    const Limits& limits_;
    Monitor& monitor_;
    Random random_;
    AnchoredBias bias_;
    IterateAverage average_;
    bool averages_;
    int without_average_ = 0;  // certificates
    std::vector<double> w_, sums_, kept_;
    double dual_ = 0.0;  // of the variables, as far as it is known
    double passes_ = 0.0;
    std::int64_t epochs_ = 0;
    std::size_t count_ = 0;  // rows that take part
    Pace pace_in_passes_, pace_in_epochs_;
};

}  // namespace

Outcome dual_coordinate_descent(BinaryState& state, const DescentOptions& options, const Limits& limits,
                                Monitor& monitor) {
    return state.visit([&]<class Rows>(const BinaryProblem<Rows>& problem) {
        auto run = [&]<class Order>(Order order) {
            return DualCoordinateDescent<Rows, Order>(state, problem, std::move(order), options, limits, monitor).run();
        };
        std::vector<RowIndex> rows = rows_taking_part(problem.variables);
        switch (options.order) {
            case OrderName::uniform:
                return run(Uniform(std::move(rows)));
            case OrderName::adaptive:
                return run(Adaptive(std::move(rows), problem.size(), good_mixing(problem.rows)));
            default: {
                const Mixing mixing = options.order == OrderName::cyclic     ? Mixing::none
                                      : options.order == OrderName::shuffled ? Mixing::all
                                                                             : good_mixing(problem.rows);
                return run(Permuted(std::move(rows), problem.size(), options.shrinking, mixing));
            }
        }
    });
}

}  // namespace maxmargin
