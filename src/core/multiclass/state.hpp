// A multi-class problem while it is being solved: its variables, and the best bounds that any stage has seen.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "multiclass/multiclass_problem.hpp"
#include "rows/any_rows.hpp"
#include "run/bounds.hpp"

namespace maxmargin {

class MulticlassState {
  public:
    // `C(i)` and `label(i)` tell what is given for row i.
    template <class GivenC, class GivenLabel>
    MulticlassState(const AnyRows& rows, Formulation of_rows, std::size_t class_count, double column, GivenC C,
                    GivenLabel label)
        : formulation(of_rows), classes(class_count), bias(column), bounds(0.0, {}, {}), rows_(rows) {
        const std::vector<double>& norms = rows.squared_norms();
        variables.rows.resize(rows.size());
        const bool worst = of_rows == Formulation::crammer_singer;
        double at_zero = 0.0;
        for (std::size_t i = 0; i < rows.size(); ++i) {
            MulticlassRow& row = variables.rows[i];
            row.C = C(i);
            row.label = label(i);
            row.curvature = norms[i] + bias * bias;
            at_zero += row.C * (worst ? 1.0 : static_cast<double>(class_count - 1));
        }
        bounds = {at_zero, std::vector<double>((rows.features() + 1) * class_width(classes)), variables};
    }

    MulticlassState(const MulticlassState&) = delete;
    MulticlassState& operator=(const MulticlassState&) = delete;

    // Known dual variables as sparse rows, brought within their bounds, and known weights (empty for none).
    void start(std::span<const double> values, std::span<const std::int32_t> which,
               std::span<const std::int64_t> starts, std::span<const double> weights);

    // The same variables, without a look at what they are worth.
    void assign(std::span<const double> values, std::span<const std::int32_t> which,
                std::span<const std::int64_t> starts);

    // As in BinaryState.
    void verify(Team* team = nullptr);
    bool offer_variables(double dual) {
        return bounds.offer_variables(dual, [this](MulticlassVariables& best) { best = variables; });
    }

    // Of the variables: sum_i alpha_i x_i for each class, laid out as weights are.
    std::vector<double> sums();

    template <class Solve>
    auto visit(const Solve& solve) {
        MulticlassProblem<UserRows> problem(rows_.rows(), variables, formulation, classes, bias);
        return solve(problem);
    }

    const AnyRows& rows() const { return rows_; }

    MulticlassVariables variables;
    Formulation formulation;
    std::size_t classes;
    double bias;
    Bounds<MulticlassVariables> bounds;

  private:
    const AnyRows& rows_;
};

}  // namespace maxmargin
