// The error rate (OP2 of Joachims 2006): sum_i C_i max(0, 1 - y_i s_i). The violated rows (c_i = 1) are those with a
// margin below 1.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "binary/problem.hpp"
#include "cutting_plane/risk.hpp"

namespace maxmargin {

class HingeRisk final : public Risk {
  public:
    explicit HingeRisk(std::span<const Variable> variables)
        : variables_(variables), rows_(rows_taking_part(variables)) {
        for (const Variable& v : variables) {
            weight_ += v.C();
        }
    }

    const std::vector<RowIndex>& rows() const override { return rows_; }
    double weight() const override { return weight_; }

    double touch(const double* scores, double* coefficients) override {
        double offset = 0.0;
        for (std::size_t p = 0; p < rows_.size(); ++p) {
            const Variable& v = variables_[rows_[p]];
            const double c = v.sign() * scores[p] < v.target ? v.C() : 0.0;
            coefficients[p] = c * v.sign();
            offset += c * v.target;
        }
        return offset;
    }

  private:
    std::span<const Variable> variables_;
    std::vector<RowIndex> rows_;
    double weight_ = 0.0;
};
static_assert(RiskOracle<HingeRisk>);

}  // namespace maxmargin
