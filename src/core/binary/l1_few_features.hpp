// Newton's method for |w|_1 where features are few: the quadratic model of the losses at the weights, with the norm as
// it is, is minimised exactly over all features, and a line search keeps every step downhill. The Hessian, the sum over
// curved rows, changes from step to step only by the rows that become curved or cease to be.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "binary/l1_quadratic.hpp"
#include "binary/newton_system.hpp"
#include "binary/problem.hpp"
#include "numeric/numbers.hpp"
#include "run/monitor.hpp"
#include "run/random.hpp"

namespace maxmargin {

template <RowSource Rows>
class L1FewFeatures {
  public:
    static constexpr std::size_t most_features = 640;

    L1FewFeatures(const BinaryProblem<Rows>& problem, Monitor& monitor)
        : problem_(problem), monitor_(monitor), hessian_(problem, monitor), penalties_(problem.features() + 1, 1.0) {
        penalties_.back() = problem.bias.free ? 0.0 : 1.0;
        take_rows(1);
    }

    // Steps on a sample of the rows, of which each stands for many, where rows are many and no weights are known.
    void start_from_sample(std::vector<double>& w) {
        const std::size_t enough_rows = std::max(rows_per_weight * w.size(), least_sample);
        const std::size_t one_in = std::min(problem_.size() / enough_rows, most_rows_per_sampled);
        if (one_in < 2) {
            return;
        }
        take_rows(one_in);
        std::vector<double> slack(problem_.size()), sums;
        for (int trial = 0; trial < most_sample_steps && !monitor_.ended(); ++trial) {
            sums.assign(w.size(), 0.0);
            for (const RowIndex i : rows_) {
                const Variable& v = problem_.variables[i];
                slack[i] = problem_.slack(i, w.data());
                problem_.add_row(i, weight_ * v.sign() * problem_.loss.slope(slack[i], v.C()), sums.data());
            }
            double violation = 0.0;
            for (std::size_t j = 0; j < w.size(); ++j) {
                violation = std::max(violation, std::abs(sums[j]) - (w[j] == 0.0 ? penalties_[j] : 0.0));
            }
            if (!step(w, slack, sums, enough_of_model * violation) || gain_ < enough_of_sample) {
                break;
            }
        }
        take_rows(1);
        hessian_.reset();
    }

    // A step from w, given the slacks and the sums of rows there, with the model minimised until no condition is
    // violated by more than `enough`. False when no step leads down.
    bool step(std::vector<double>& w, const std::vector<double>& slack, const std::vector<double>& sums,
              double enough) {
        curved_.clear();
        for (const RowIndex i : rows_) {
            if (!problem_.loss.is_one_sided() || slack[i] > 0.0) {
                curved_.push_back(i);
            }
        }
        hessian_.set_curved(curved_);
        if (monitor_.ended()) {
            return false;
        }
        copy_matrix(w.size());
        std::vector<double> aim = w, rest = sums;
        L1Quadratic(matrix_, penalties_, monitor_).minimise(aim, rest, enough);
        direction_.resize(w.size());
        for (std::size_t j = 0; j < w.size(); ++j) {
            direction_[j] = aim[j] - w[j];
        }
        slope_.resize(problem_.size());
        problem_.with_view([&](const auto& problem) {
            for (const RowIndex i : rows_) {
                slope_[i] = problem.margin(i, direction_.data());
            }
        });
        const double before = value(w, slack, 0.0);
        double t = 1.0;
        for (int trial = 0; trial < most_trials && !monitor_.poll(problem_.rows.stored()); ++trial, t *= 0.5) {
            const double after = value(w, slack, t);
            // Near the optimum a full step changes the value by rounding errors alone, and still betters the dual one.
            if (after < before || (t == 1.0 && after <= before * (1.0 + rounding))) {
                gain_ = (before - after) / before;
                for (std::size_t j = 0; j < w.size(); ++j) {
                    w[j] = t == 1.0 ? aim[j] : w[j] + t * direction_[j];
                }
                return true;
            }
        }
        return false;
    }

  private:
    static constexpr int most_trials = 30;  // of step lengths
    static constexpr double rounding = 1e-13;
    static constexpr std::size_t rows_per_weight = 20, least_sample = 1000, most_rows_per_sampled = 64;
    static constexpr int most_sample_steps = 20;
    // A sample is left when a step gains less than this share of its objective.
    static constexpr double enough_of_sample = 0.01, enough_of_model = 0.1;

    // About one row in so many of those that take part.
    void take_rows(std::size_t one_in) {
        weight_ = static_cast<double>(one_in);
        rows_.clear();
        for (std::size_t i = 0; i < problem_.size(); ++i) {
            if (is_sampled(i, one_in) && problem_.variables[i].takes_part()) {
                rows_.push_back(static_cast<RowIndex>(i));
            }
        }
    }

    void copy_matrix(std::size_t n) {
        const double scale = weight_ / problem_.loss.diagonal_times_C;
        matrix_.resize(n * n);
        for (std::size_t p = 0; p < n; ++p) {
            const double* line = hessian_.sum().row(p);
            for (std::size_t q = 0; q <= p; ++q) {
                matrix_[p * n + q] = matrix_[q * n + p] = scale * line[q];
            }
        }
    }

    // The objective so far along the step.
    double value(const std::vector<double>& w, const std::vector<double>& slack, double t) const {
        double length = 0.0, losses = 0.0;
        for (std::size_t j = 0; j < w.size(); ++j) {
            length += penalties_[j] * std::abs(w[j] + t * direction_[j]);
        }
        for (const RowIndex i : rows_) {
            losses += problem_.loss.primal(slack[i] - t * slope_[i], problem_.variables[i].C());
        }
        return length + weight_ * losses;
    }

    const BinaryProblem<Rows>& problem_;
    Monitor& monitor_;
    DenseHessian<Rows> hessian_;
    std::vector<RowIndex> rows_, curved_;
    double weight_ = 1.0;  // of each row: larger than 1 while a sample stands for all
    double gain_ = 0.0;    // of the last step, a share of the objective
    std::vector<double> penalties_, matrix_, direction_, slope_;
};

}  // namespace maxmargin
