// The loss of Crammer and Singer: sum_i C_i max(0, max_m 1 - (s_i^y - s_i^m)).
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "cutting_plane/risk.hpp"
#include "multiclass/multiclass_problem.hpp"

namespace maxmargin {

class CrammerSingerRisk final : public Risk {
  public:
    CrammerSingerRisk(const MulticlassVariables& variables, std::size_t classes)
        : variables_(variables),
          classes_(classes),
          width_(class_width(classes)),
          rows_(rows_taking_part(variables.rows)) {
        for (const RowIndex i : rows_) {
            weight_ += variables.rows[i].C;
        }
    }

    const std::vector<RowIndex>& rows() const override { return rows_; }
    std::size_t width() const override { return width_; }
    double weight() const override { return weight_; }

    double touch(const double* scores, double* coefficients) override {
        double offset = 0.0;
        for (const RowIndex i : rows_) {
            const MulticlassRow& row = variables_.rows[i];
            std::fill_n(coefficients, width_, 0.0);
            std::size_t rival = row.label == 0 ? 1 : 0;
            for (std::size_t m = rival + 1; m < classes_; ++m) {
                rival = m != row.label && scores[m] > scores[rival] ? m : rival;
            }
            if (scores[row.label] - scores[rival] < 1.0) {
                coefficients[row.label] = row.C;
                coefficients[rival] = -row.C;
                offset += row.C;
            }
            scores += width_;
            coefficients += width_;
        }
        return offset;
    }

  private:
    const MulticlassVariables& variables_;
    std::size_t classes_;
    std::size_t width_;
    std::vector<RowIndex> rows_;
    double weight_ = 0.0;
};
static_assert(RiskOracle<CrammerSingerRisk>);

}  // namespace maxmargin
