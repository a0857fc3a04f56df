// Primal coordinate descent (Chang, Hsieh & Lin 2008) for losses with a curvature: features in random order, for each a
// Newton step on its weight alone with a line search. Slacks are maintained; columns are a copy (columns.hpp).
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "binary/certificate.hpp"
#include "binary/columns.hpp"
#include "binary/free_bias.hpp"
#include "binary/methods.hpp"
#include "binary/plane_step.hpp"
#include "run/random.hpp"
#include "run/reached.hpp"

namespace maxmargin {
namespace {

template <RowSource Rows>
class PrimalCoordinateDescent {
  public:
    PrimalCoordinateDescent(BinaryState& state, BinaryProblem<Rows> problem, bool plane, const Limits& limits,
                            Monitor& monitor)
        : state_(state),
          problem_(problem),
          in_plane_(plane),
          limits_(limits),
          monitor_(monitor),
          columns_(problem, monitor),
          slack_(problem.size()),
          largest_curvature_(problem.features() + 1),
          random_(limits.seed),
          plane_(problem_) {
        for (std::size_t j = 0; j <= problem.features() && !monitor_.poll(columns_[j].rows.size()); ++j) {
            visit(j, [&](std::size_t i, double x) {
                largest_curvature_[j] += x * x * problem_.loss.inverse_diagonal(problem_.variables[i].C());
            });
            if (!columns_[j].rows.empty()) {
                features_.push_back(static_cast<RowIndex>(j));
            }
        }
        random_.shuffle(std::span(features_));
        if (in_plane_ && problem.size() >= problem.features()) {
            std::stable_sort(features_.begin(), features_.end(),
                             [this](RowIndex a, RowIndex b) { return largest_curvature_[a] > largest_curvature_[b]; });
        }
    }

    Outcome run() {
        std::vector<double> w = state_.bounds.weights();
        for (std::int64_t epoch = 0;; ++epoch) {
            const bool last = monitor_.look() || epoch >= limits_.max_iter;
            const auto passes = static_cast<double>(epoch);
            if (last || epoch % epochs_between_checks == 0 || monitor_.report_due(passes)) {
                find_slacks(w);  // without the rounding errors of many steps
                offer(w);
                const bool converged = reached(state_, limits_.tol, monitor_);
                monitor_.report(epoch, passes, curved_, state_.bounds);
                if (converged || last || monitor_.ended()) {
                    return {converged ? Exit::converged : monitor_.ended() ? monitor_.exit() : Exit::max_iter, epoch};
                }
            }
            if (in_plane_) {
                // An order that stays, forward and back: heavy columns first where they are few beside the rows.
                plane_.begin(w, slack_);
                sweep(features_.begin(), features_.end(), w);
                sweep(features_.rbegin(), features_.rend(), w);
                plane_.take(w, slack_);
            } else {
                random_.shuffle(std::span(features_));
                sweep(features_.begin(), features_.end(), w);
            }
        }
    }

  private:
    static constexpr std::int64_t epochs_between_checks = 4;
    static constexpr double sufficient = 0.01;  // decrease, sigma of the paper
    static constexpr double shorter = 0.5;      // step, beta of the paper

    template <class Iterator>
    void sweep(Iterator begin, Iterator end, std::vector<double>& w) {
        for (; begin != end && !monitor_.poll(2 * columns_[*begin].rows.size()); ++begin) {
            step(*begin, w[*begin]);
        }
    }

    // Both bounds: the weights as they are, and the dual variables that their slacks ask for, times the factor that is
    // best for them. Far from the optimum they are much too large.
    void offer(const std::vector<double>& w) {
        const Monitor::Checking checking(monitor_);
        double losses = 0.0;
        for (std::size_t i = 0; i < problem_.size(); ++i) {
            const Variable& v = problem_.variables[i];
            losses += v.takes_part() ? problem_.loss.primal(slack_[i], v.C()) : 0.0;
        }
        state_.bounds.offer_weights(problem_.regulariser().value(w) + losses, w);
        read_alphas();
        if (problem_.bias.free) {
            balance(problem_);
        }
        problem_.sum_rows(sums_);
        double linear = 0.0;
        for (const Variable& v : problem_.variables) {
            linear += problem_.loss.linear(v.alpha, v.target);
        }
        const double quadratic = linear - problem_.dual_terms() + problem_.regulariser().conjugate(sums_);
        const double factor =
            quadratic > 0.0 && (linear > 0.0 || problem_.loss.epsilon == 0.0) ? 0.5 * linear / quadratic : 1.0;
        for (Variable& v : problem_.variables) {
            v.alpha *= factor;
        }
        state_.offer_variables(factor * linear - factor * factor * quadratic, problem_);
    }

    // visit(row, sign_i x_ij) for the entries of a column.
    template <class Visit>
    void visit(std::size_t j, Visit visit_entry) const {
        const auto column = columns_[j];
        const double scale = j == problem_.features() ? problem_.bias.value : 1.0;
        for (std::size_t k = 0; k < column.rows.size(); ++k) {
            const std::size_t i = column.rows[k];
            visit_entry(i, scale * static_cast<double>(column.values[k]) * problem_.variables[i].sign());
        }
    }

    void find_slacks(const std::vector<double>& w) {
        for (std::size_t i = 0; i < problem_.size(); ++i) {
            slack_[i] = problem_.variables[i].takes_part() ? problem_.slack(i, w.data()) : 0.0;
        }
    }

    // Minimises over one weight: the derivatives of eq. 10 and 11 there, and the condition of sufficient decrease,
    // which a step short enough by the bound of the curvature fulfils anyway.
    void step(std::size_t j, double& weight) {
        const Loss& loss = problem_.loss;
        const double regular = j == problem_.features() && problem_.bias.free ? 0.0 : 1.0;
        double first = regular * weight, second = regular;
        visit(j, [&](std::size_t i, double x) {
            const double C = problem_.variables[i].C(), inverse = loss.inverse_diagonal(C);
            const double free = loss.outside(slack_[i]) * inverse, alpha = clip(free, loss.lower(C), infinity);
            first -= alpha * x;
            second += loss.is_curved(free, alpha) ? x * x * inverse : 0.0;
        });
        if (first == 0.0 || !(second > 0.0)) {
            return;
        }
        const double d = -first / second;
        const double safe = second / (0.5 * (regular + largest_curvature_[j]) + sufficient * second);
        double t = 1.0;
        while (t > safe && change(j, weight, t * d) > -sufficient * second * t * t * d * d) {
            t *= shorter;
        }
        if (t * d != 0.0) {
            weight += t * d;
            visit(j, [&](std::size_t i, double x) { slack_[i] -= t * d * x; });
        }
    }

    // Of the objective, when the weight changes by d.
    double change(std::size_t j, double weight, double d) const {
        const double regular = j == problem_.features() && problem_.bias.free ? 0.0 : 1.0;
        double sum = regular * d * (weight + 0.5 * d);
        visit(j, [&](std::size_t i, double x) {
            const double C = problem_.variables[i].C();
            sum += problem_.loss.primal(slack_[i] - d * x, C) - problem_.loss.primal(slack_[i], C);
        });
        return sum;
    }

    // The dual variables that the slacks ask for.
    void read_alphas() {
        curved_ = 0;
        for (std::size_t i = 0; i < problem_.size(); ++i) {
            Variable& v = problem_.variables[i];
            if (v.takes_part()) {
                v.alpha = problem_.loss.slope(slack_[i], v.C());
                curved_ += v.alpha != 0.0 ? 1 : 0;
            }
        }
    }

    BinaryState& state_;
    BinaryProblem<Rows> problem_;
    bool in_plane_;
    const Limits& limits_;
    Monitor& monitor_;
    Columns<Rows> columns_;
    std::vector<double> slack_, sums_;
    std::vector<double> largest_curvature_;
    std::vector<RowIndex> features_;
    std::size_t curved_ = 0;
    Random random_;
    PlaneStep<Rows> plane_;
};

}  // namespace

Outcome primal_coordinate_descent(BinaryState& state, bool plane, const Limits& limits, Monitor& monitor) {
    return state.visit([&]<class Rows>(const BinaryProblem<Rows>& problem) {
        monitor.expect_check(4.0 * static_cast<double>(problem.rows.stored()));  // slacks, and a sum of rows
        return PrimalCoordinateDescent<Rows>(state, problem, plane, limits, monitor).run();
    });
}

}  // namespace maxmargin
