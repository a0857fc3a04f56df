// The exact end of a hinge problem: once it is known which dual variables lie between their bounds, they are the
// solution of a linear system, "the slack of these rows is zero". Variables read off a smoothed hinge, slack over
// width, carry the rounding error of the slack many times enlarged; this removes it, and finds the optimum from a width
// at which the rows are right.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "binary/problem.hpp"
#include "numeric/cholesky.hpp"

namespace maxmargin {

template <class Rows>
class FreeVariables {
  public:
    // Takes the variables of `problem` as they are.
    explicit FreeVariables(const BinaryProblem<Rows>& problem) : problem_(problem) {
        for (std::size_t i = 0; i < problem.size(); ++i) {
            const Variable& v = problem.variables[i];
            const bool at_edge = v.alpha != 0.0 || !problem.loss.is_flat_at_zero();
            if (v.takes_part() && at_edge && v.alpha > problem.loss.lower(v.C()) &&
                v.alpha < problem.loss.upper(v.C())) {
                rows_.push_back(static_cast<RowIndex>(i));
            }
        }
    }

    std::size_t size() const { return rows_.size(); }

    // Work for `count` of them, in stored values.
    static double cost(std::size_t count, const BinaryProblem<Rows>& problem) {
        const double per_row = static_cast<double>(problem.rows.stored()) / static_cast<double>(problem.size());
        const double n = static_cast<double>(count);
        return n * n * (per_row + n / 8.0);
    }

    bool factorise() {
        const std::size_t count = rows_.size();
        gram_ = SymmetricMatrix(count);
        std::vector<double> x(problem_.features() + 1);
        double largest = 0.0;
        for (std::size_t k = 0; k < count; ++k) {
            std::fill(x.begin(), x.end(), 0.0);
            problem_.add_row(rows_[k], problem_.variables[rows_[k]].sign(), x.data());
            for (std::size_t j = 0; j <= k; ++j) {
                gram_.row(k)[j] = problem_.margin(rows_[j], x.data());
            }
            largest = std::max(largest, gram_.row(k)[k]);
        }
        // A small ridge, because rows may be equal.
        ridge_ = 1e-12 * largest;
        factor_ = SymmetricMatrix(count);
        return count > 0 && ridge_ > 0.0 && factorise_shifted(gram_, 1.0 / ridge_, factor_);
    }

    // Moves the variables to where the slacks of their rows at `w`, the weights that belong to them, would be zero;
    // cut off at their bounds. To be repeated: as iterative refinement, and because of the cuts.
    void step(const std::vector<double>& w) {
        std::vector<double> change(rows_.size());
        for (std::size_t k = 0; k < rows_.size(); ++k) {
            change[k] = problem_.slack(rows_[k], w.data()) - problem_.loss.edge(problem_.variables[rows_[k]].alpha);
        }
        solve_factorised(factor_, change);
        if (problem_.bias.free) {
            keep_balance(change);
        }
        for (std::size_t k = 0; k < rows_.size(); ++k) {
            Variable& v = problem_.variables[rows_[k]];
            const bool tube = problem_.loss.epsilon > 0.0;  // whose edges have variables of one sign each
            v.alpha = clip(v.alpha + change[k] / ridge_, tube && v.alpha > 0.0 ? 0.0 : problem_.loss.lower(v.C()),
                           tube && v.alpha < 0.0 ? 0.0 : problem_.loss.upper(v.C()));
        }
    }

  private:
    // The bias changes, too, and so all slacks by the same amount, by so much that sum_i sign_i a_i stays.
    void keep_balance(std::vector<double>& change) const {
        std::vector<double> unit(rows_.size());
        for (std::size_t k = 0; k < rows_.size(); ++k) {
            unit[k] = problem_.variables[rows_[k]].sign();
        }
        solve_factorised(factor_, unit);
        double numerator = 0.0, denominator = 0.0;
        for (std::size_t k = 0; k < rows_.size(); ++k) {
            numerator += problem_.variables[rows_[k]].sign() * change[k];
            denominator += problem_.variables[rows_[k]].sign() * unit[k];
        }
        for (std::size_t k = 0; k < rows_.size() && denominator > 0.0; ++k) {
            change[k] -= numerator / denominator * unit[k];
        }
    }

    const BinaryProblem<Rows>& problem_;
    std::vector<RowIndex> rows_;
    SymmetricMatrix gram_{0};
    SymmetricMatrix factor_{0};
    double ridge_ = 0.0;
};

}  // namespace maxmargin
