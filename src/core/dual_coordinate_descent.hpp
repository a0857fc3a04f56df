// Algorithm 1 of Hsieh et al. over any rows, loss and order: one exact step per visited row, w maintained, and an exact
// certificate from time to time. What makes it "dcd", "online" or "avsf" is the order alone.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "anchored_bias.hpp"
#include "certificate.hpp"
#include "free_bias.hpp"
#include "iterate_average.hpp"
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
        : problem_(problem),
          order_(std::move(order)),
          random_(random),
          monitor_(monitor),
          options_(options),
          bias_(problem) {}

    // Starts from the alphas in the problem's variables and leaves the best ones there, with the weights that belong to
    // them.
    Outcome run(std::vector<double>& w) {
        const bool warm = std::any_of(problem_.variables.begin(), problem_.variables.end(),
                                      [](const Variable& v) { return v.alpha != 0.0; });
        weights_of(problem_, w);
        dual_ = warm && !problem_.free_bias ? certify(problem_, w).dual : 0.0;
        if (bias_.anchored() && warm && !problem_.free_bias) {
            // Of variables that are not yet optimal, the bias is a large multiple of a small difference; the best one
            // for the weights is a better anchor.
            BinaryProblem<Rows> free = problem_;
            free.free_bias = true;
            weights_of(free, w);
        }
        bias_.start(problem_, w.back());
        // Certificates of balanced variables need their weights, too.
        const double pass_cost = static_cast<double>(problem_.rows.stored() + row_cost * problem_.size());
        const double check_cost = problem_.free_bias ? 2.0 * pass_cost : pass_cost;
        double credit = check_share * check_cost;
        double passes = 0.0;
        Certificate last;
        double previous = infinity;
        double trust = 1.0;  // exact gap / estimate of the sweep, when both were last known
        while (true) {
            const Sweep sweep = epoch(w);
            ++epochs_;
            order_.end_epoch();
            dual_ += sweep.gain;
            bias_.end_epoch(w.back());
            if (averages_) {
                average_.add(problem_, w.back());
            }
            credit += check_share * sweep.work;
            passes += sweep.work / pass_cost;
            bool check = monitor_.look() || epochs_ >= options_.max_iter || passes >= options_.max_passes ||
                         credit >= check_cost;
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
            const double before = monitor_.seconds();
            const bool paired = problem_.free_bias || (hopeful && !bias_.anchored());
            Iterate descent;
            if (paired) {
                descent = make_pair(w);
            }
            last = certify_anchored(w, [this](std::size_t i) { return order_.hidden(i); });
            dual_ = last.dual;
            Certificate pair = last;
            if (last.gap() <= options_.tol && !paired) {
                descent = make_pair(w);
                pair = certify(problem_, w);
            }
            remember(pair, w.back());
            const bool averaged = averages_ && pair.gap() > options_.tol && average_is_better(pair);
            const Certificate& better = averaged ? average_certificate_ : pair;
            check_seconds_ += monitor_.seconds() - before;
            const double difference = last.primal - last.dual;
            if (sweep.gap > 0.0) {
                const double most = bias_.anchored() ? infinity : 1.0;  // the sweep knows nothing of the anchor
                trust = std::clamp((difference - last.hidden_gap) / sweep.gap, 0.1, most);
            }
            monitor_.report({epochs_, monitor_.seconds(), better.primal, better.dual, better.gap(),
                             static_cast<std::int64_t>(order_.active()), averaged ? mean_ : w});
            if (better.gap() <= options_.tol) {
                if (averaged) {
                    w = std::move(mean_);
                }
                return {better, epochs_, Exit::converged, check_seconds_};
            }
            if (monitor_.ended()) {
                return best(w, monitor_.exit());
            }
            const bool out_of_work = passes >= options_.max_passes || too_slow(passes, better.gap());
            if (epochs_ >= options_.max_iter || out_of_work) {
                return best(w, out_of_work ? Exit::budget : Exit::max_iter);
            }
            const bool stuck = bias_.anchored() && difference > 0.9 * previous;  // the anchor may have left hidden rows
            previous = difference;
            if (last.hidden_gap > 0.5 * difference || sweep.gain <= 0.0 || stuck) {
                order_.restart();
                last.hidden_gap = 0.0;
            }
            plan_average(averaged, better.gap());
            go_on(descent, w);
        }
    }

  private:
    static constexpr double check_share = 0.12;  // of the work, for certificates
    static constexpr std::size_t row_cost = 8;   // what a visit costs beside its stored values, in stored values
    static constexpr std::size_t row_ahead = 3;
    static constexpr std::size_t start_ahead = 8;
    static constexpr int most_without_average = 3;  // certificates
    static constexpr double far = 0.1;              // a gap at which means are always worth a try

    struct Sweep {
        double gap = 0.0;   // sum of gap_share, each row's at the time of its visit
        double gain = 0.0;  // growth of the dual
        double work = 0.0;
    };

    Sweep epoch(std::vector<double>& weights) {
        const std::span<const RowIndex> schedule = order_.schedule(random_);
        const Loss loss = problem_.loss;
        double* w = weights.data();
        const std::size_t last = problem_.features();
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
                const double alpha = minimiser(v, v.curvature + bias_.curvature(), G, loss.lower, upper);
                const double d = alpha - v.alpha;
                double gain = 0.0;
                if (d != 0.0) {
                    v.alpha = alpha;
                    problem_.rows.axpy(i, d * v.y, w);
                    w[last] += d * v.y * bias_.step();
                    gain = -d * (G + 0.5 * (v.curvature + bias_.curvature()) * d);
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
    static double minimiser(const Variable& v, double curvature, double G, double lower, double upper) {
        if (curvature > 0.0) {
            return clip(v.alpha - G / curvature, lower, upper);
        }
        return G < 0.0 ? upper : lower;
    }

    // What the descent goes on from; empty where a pair is no other iterate.
    struct Iterate {
        std::vector<double> alphas, weights;
        double bias = 0.0;
    };

    // From the descent to variables and the weights that belong to them, without rounding errors. An anchored bias is
    // not yet that of the variables, but nearer to the optimum; so these are moved to have it.
    Iterate make_pair(std::vector<double>& w) {
        Iterate descent;
        if (bias_.anchored()) {
            descent.alphas = problem_.alphas();
            descent.bias = w.back();
        }
        if (problem_.free_bias) {
            descent.weights = w;
        }
        settle(w);
        return descent;
    }

    void go_on(Iterate& descent, std::vector<double>& w) {
        if (descent.alphas.empty()) {
            return;
        }
        problem_.assign(descent.alphas);
        if (problem_.free_bias) {
            w = std::move(descent.weights);
        } else {
            problem_.sum_rows(w);
            w.back() = descent.bias;
        }
    }

    void settle(std::vector<double>& w) {
        if (bias_.anchored()) {
            set_imbalance(problem_, problem_.free_bias ? 0.0 : w.back() / problem_.bias);
        }
        weights_of(problem_, w);
    }

    // Whether the descent has a regularised bias that is not that of its variables.
    bool bias_differs() const { return bias_.anchored() && !problem_.free_bias; }

    // Primal at the weights with their anchored bias, dual of the variables with their own: a bound like any other, and
    // about that of the pair once the two agree.
    template <class IsHidden>
    Certificate certify_anchored(const std::vector<double>& w, IsHidden is_hidden) const {
        Certificate certificate = certify(problem_, w, is_hidden);
        if (bias_differs()) {
            const double own = problem_.bias * imbalance(problem_);
            certificate.dual += 0.5 * (w.back() * w.back() - own * own);
        }
        return certificate;
    }

    // Whether the mean of the iterates since the last certificate makes a better pair. If it meets the tolerance, it is
    // left in the variables.
    bool average_is_better(const Certificate& pair) {
        if (average_.count() < 2) {
            return false;
        }
        const std::vector<double> alphas = problem_.alphas();
        average_.take(problem_, mean_);
        if (bias_.anchored()) {
            mean_.back() = average_.bias();
        }
        if (problem_.free_bias) {
            settle(mean_);
        }
        average_certificate_ = certify_anchored(mean_, [](std::size_t) { return false; });
        if (average_certificate_.gap() <= options_.tol && bias_differs()) {
            settle(mean_);
            average_certificate_ = certify(problem_, mean_);
        }
        remember(average_certificate_, mean_.back());
        if (!(average_certificate_.gap() <= options_.tol)) {
            problem_.assign(alphas);
        }
        return average_certificate_.gap() < pair.gap();
    }

    // Means are taken while they help or the optimum is far, and otherwise tried now and then.
    void plan_average(bool helped, double gap) {
        average_.forget();
        without_average_ = averages_ ? 0 : without_average_ + 1;
        averages_ = Order::averages && (helped || gap > far || without_average_ >= most_without_average);
    }

    // Whether, at the pace of the second half so far, the tolerance is more than `worth` passes away.
    bool too_slow(double passes, double gap) {
        if (options_.worth == infinity) {
            return false;
        }
        pace_.push_back({passes, gap});
        if (pace_.size() < 2) {
            return false;
        }
        const auto middle = std::min_element(pace_.begin(), pace_.end() - 1, [&](const auto& a, const auto& b) {
            return std::abs(a.first - 0.5 * passes) < std::abs(b.first - 0.5 * passes);
        });
        const double fall = std::log(middle->second / gap) / (passes - middle->first);
        return !(std::log(gap / std::max(options_.tol, 1e-15)) <= options_.worth * fall);
    }

    void remember(const Certificate& certificate, double bias) {
        if (!best_alpha_.empty() && !(certificate.gap() < best_.gap())) {
            return;
        }
        best_ = certificate;
        best_bias_ = bias;
        problem_.copy_alphas(best_alpha_);
    }

    Outcome best(std::vector<double>& w, Exit exit) {
        problem_.assign(best_alpha_);
        w.back() = best_bias_;
        settle(w);
        Certificate exact = certify(problem_, w);
        if (bias_differs() && exact.gap() > options_.tol) {  // early on, variables may be moved too far
            std::vector<double> moved = problem_.alphas(), weights = w;
            problem_.assign(best_alpha_);
            problem_.sum_rows(w);
            const Certificate unmoved = certify(problem_, w);
            if (unmoved.gap() < exact.gap()) {
                exact = unmoved;
            } else {
                problem_.assign(moved);
                w = std::move(weights);
            }
        }
        return {exact, epochs_, exact.gap() <= options_.tol ? Exit::converged : exit, check_seconds_};
    }

    BinaryProblem<Rows> problem_;
    Order order_;
    Random& random_;
    Monitor& monitor_;
    const Options& options_;
    std::int64_t epochs_ = 0;
    std::vector<std::pair<double, double>> pace_;  // passes and gap of earlier certificates
    double dual_ = 0.0;
    AnchoredBias bias_;
    IterateAverage average_;
    bool averages_ = Order::averages;
    int without_average_ = 0;  // certificates
    std::vector<double> mean_;
    Certificate average_certificate_;
    double check_seconds_ = 0.0;
    Certificate best_;
    double best_bias_ = 0.0;
    std::vector<double> best_alpha_;
};

}  // namespace maxmargin
