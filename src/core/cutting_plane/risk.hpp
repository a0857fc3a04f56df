// Risks that cutting planes minimise: convex, piecewise linear functions R of the rows' scores s_i = w.x_i. An oracle
// evaluates one and gives the cut that touches it there, R(s') >= offset - sum_i coefficients_i s'_i for all s'. A row
// may have several scores, one for each class; then weights, scores and coefficients lie as in class_kernels.hpp.
#pragma once

#include <concepts>
#include <cstddef>
#include <vector>

#include "rows/row_source.hpp"

namespace maxmargin {

class Risk {
  public:
    virtual ~Risk() = default;
    // The rows that take part; scores and coefficients are in this order.
    virtual const std::vector<RowIndex>& rows() const = 0;
    // Scores per row: 1, or the width of the classes.
    virtual std::size_t width() const { return 1; }
    // The C of the papers, by which violations of constraints are divided.
    virtual double weight() const = 0;
    // Fills in the coefficients and returns the offset.
    virtual double touch(const double* scores, double* coefficients) = 0;
};

// What makes a class a risk; each states it where it is defined.
template <class Candidate>
concept RiskOracle = std::derived_from<Candidate, Risk> && requires(Candidate risk, const double* s, double* c) {
    { risk.touch(s, c) } -> std::same_as<double>;
    { risk.rows() } -> std::same_as<const std::vector<RowIndex>&>;
    { risk.weight() } -> std::same_as<double>;
};

}  // namespace maxmargin
