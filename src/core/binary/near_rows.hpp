// The rows a Newton step has to look at. A row far on the right side of its margin has slope 0, and one far on the
// wrong side of a smoothed hinge the slope U_i; since |x_i.(w - w0)| <= |x_i| |w - w0|, they surely keep it while w
// stays within a radius of w0. The others are near, with their slacks kept side by side; of the far ones only sums are
// needed.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "binary/loss.hpp"
#include "binary/problem.hpp"

namespace maxmargin {

template <class Rows>
class NearRows {
  public:
    explicit NearRows(const BinaryProblem<Rows>& problem) : problem_(problem), far_sum_(problem.features() + 1) {}

    std::vector<RowIndex> rows;
    std::vector<double> C;
    std::vector<double> slack;
    std::vector<double> slope;  // sign_i d.x_i: how fast the slack falls along a step d

    // Rows of slope U_i, or -U_i, that are far: sums of C_i, of C_i times what a unit of slope adds to the dual, and of
    // C_i sign_i x_i with the sign of the slope.
    double far_C() const { return far_C_; }
    double far_targets() const { return far_targets_; }
    const std::vector<double>& far_sum() const { return far_sum_; }

    double radius() const { return radius_; }
    bool covers(double distance) const { return distance <= radius_; }
    double distance(const std::vector<double>& w) const {
        double sum = 0.0;
        for (std::size_t j = 0; j < w.size(); ++j) {
            sum += (w[j] - center_[j]) * (w[j] - center_[j]);
        }
        return std::sqrt(sum);
    }

    // One pass over all rows: exact slacks at w, and which rows are near within `radius` of it. Far rows get their
    // alpha.
    void collect(const std::vector<double>& w, const Loss& loss, double radius) {
        problem_.with_view([&](const auto& problem) { collect_from(problem, w, loss, radius); });
    }

    void find_slopes(const std::vector<double>& direction) {
        problem_.with_view([&](const auto& problem) {
            for (std::size_t k = 0; k < rows.size(); ++k) {
                slope[k] = problem.margin(rows[k], direction.data());
            }
        });
    }

    void move(double t) {
        for (std::size_t k = 0; k < rows.size(); ++k) {
            slack[k] -= t * slope[k];
        }
    }

  private:
    template <class Problem>
    void collect_from(const Problem& problem, const std::vector<double>& w, const Loss& loss, double radius) {
        center_ = w;
        radius_ = radius;
        rows.clear();
        C.clear();
        slack.clear();
        far_C_ = far_targets_ = 0.0;
        std::fill(far_sum_.begin(), far_sum_.end(), 0.0);
        for (std::size_t i = 0; i < problem.size(); ++i) {
            Variable& v = problem.variables[i];
            if (!v.takes_part()) {
                continue;
            }
            const double own_C = v.C();
            const double z = problem.slack(i, w.data());
            // A little more than the bound, for rounding.
            const double reach =
                1e-9 * std::max(std::abs(v.target), 1.0) +
                1.000001 * radius * std::sqrt(problem.squared_norm(i) + problem.bias.value * problem.bias.value);
            const double wide = loss.epsilon + loss.upper_per_C * loss.diagonal_times_C;
            if (loss.is_one_sided() ? z < -reach : std::abs(z) < loss.epsilon - reach) {
                v.alpha = 0.0;
            } else if (z > wide + reach || (!loss.is_one_sided() && -z > wide + reach)) {
                const double side = z > 0.0 ? 1.0 : -1.0;
                v.alpha = side * loss.upper(own_C);
                far_C_ += own_C;
                far_targets_ += own_C * (side * v.target - loss.epsilon);
                problem.add_row(i, side * v.signed_C, far_sum_.data());
            } else {
                rows.push_back(static_cast<RowIndex>(i));
                C.push_back(own_C);
                slack.push_back(z);
            }
        }
        slope.resize(rows.size());
    }

    const BinaryProblem<Rows>& problem_;
    std::vector<double> center_;
    double radius_ = 0.0;
    double far_C_ = 0.0, far_targets_ = 0.0;
    std::vector<double> far_sum_;
};

}  // namespace maxmargin
