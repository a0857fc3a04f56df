// Newton's method for up to eight binary problems that differ only in which rows take part, as the folds of a
// cross-validation do. One pass over the rows serves all of them (joint_kernels.hpp), and so do most products of the
// Hessians: a row mostly becomes curved, or ceases to be, in all of its problems at once. Such rows are summed up once,
// and the sum is added to the matrix of each.
//
// The matrices stay from one C to the next, and so do the weights, which are the start of the next. What a pass has
// found is true of other C as well, up to a factor: the first step at a new C needs no pass.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "binary/joint_descent.hpp"
#include "numeric/cholesky.hpp"
#include "numeric/huge_array.hpp"
#include "numeric/joint_kernels.hpp"

namespace maxmargin {

class FoldNewton {
  public:
    explicit FoldNewton(const AnyRows& rows) : rows_(rows) {}

    // The weights of each problem, the bias last, from which the next `solve` starts.
    void start(const std::vector<std::vector<double>>& weights);

    // The problems must share their rows, loss (a curved one without upper bounds), bias (not a free one) and, where a
    // row takes part, its sign and C; targets are 1. In every call they are the same but for a common factor of C. A
    // problem that has not reached the tolerance after limits.max_iter steps ends with Exit::budget.
    std::vector<Outcome> solve(std::span<const JointProblem> problems, const Limits& limits);

  private:
    using Lane = std::array<double, joint_width>;

    // Of some weights: the losses, what the variables that belong to them add to the dual value, and the sum of their
    // rows, feature by feature.
    struct Values {
        Lane losses{}, terms{};
        std::vector<double> sums;
    };

    void read(std::span<const JointProblem> problems);
    void check(std::span<const JointProblem> problems) const;
    void scale_to(double C);
    void evaluate(const std::vector<double>& weights, Team* team, Values& values);
    template <class View>
    void evaluate_part(const View& rows, const std::vector<double>& weights, std::size_t begin, std::size_t end,
                       double* sums, Lane& losses, Lane& terms);
    void update_curved(Team* team);
    void add_outers(std::span<const RowIndex> rows, std::span<const double> scales, SymmetricMatrix& sum,
                    Team* team) const;
    bool factorise(std::size_t lane);
    void find_direction(std::size_t lane);
    double dot(const std::vector<double>& a, const std::vector<double>& b, std::size_t lane) const;
    double primal(const std::vector<double>& weights, const Values& values, std::size_t lane) const;
    double dual(const Values& values, std::size_t lane) const;
    void offer(const JointProblem& problem, std::size_t lane, bool variables) const;

    std::size_t width() const { return rows_.features() + 1; }

    const AnyRows& rows_;
    Loss loss_{};
    double bias_ = 0.0;
    std::size_t lanes_ = 0;
    double C_ = 0.0;                         // of a row of unit weight
    std::vector<double> unit_;               // weights of rows beside it; zero for those that take no part
    std::vector<std::int8_t> signs_;         // of each row and lane; 0 where it takes no part
    std::vector<std::uint8_t> curved_;       // the problems in which a row is curved, as bits
    std::vector<SymmetricMatrix> scatters_;  // of each lane, the sum of unit_i x_i x_i' over curved rows
    std::vector<SymmetricMatrix> factors_;   // of its Hessian
    SymmetricMatrix shared_{0};              // a sum that several lanes get
    HugeArray<double> beta_;                 // signed variables of the last weights that were evaluated
    std::vector<double> weights_, direction_, trial_;
    Values now_, next_;
    bool known_ = false;  // whether `now_` and `beta_` belong to `weights_`
};

}  // namespace maxmargin
