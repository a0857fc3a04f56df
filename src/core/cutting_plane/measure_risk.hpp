// Performance measures of a whole prediction as risks (Joachims 2005): for n rows, of which P are positive,
//
//     R(s) = max over labellings y' of  n Delta(y', y) - sum over rows with y'_i != y_i of y_i s_i
//
// where Delta is 1 - the measure. With the error rate this is the hinge. Of all labellings with c positives and b
// negatives flipped the best flips the positives of lowest and the negatives of highest score, so that after sorting
// R = max over tables (b, c) of n Delta(b, c) + A(c) + B(b), with sums A and B of sorted scores:
//
// - precision and recall at k, and their break-even point (k = P), allow one b for every c, and the true labels;
// - F1, Delta = (b + c) / (2P - c + b), is concave in b for every c, and the best b does not fall as a = P - c rises:
//   the slope in b, 2 a n / ((a + P + b) (a + P + b + 1)), rises with a as long as a <= P + b, which always holds. So
//   two pointers visit at most n tables;
// - the area under the ROC curve is a sum over pairs of a positive and a negative row, each with a hinge of its own.
#pragma once

#include <cstddef>
#include <vector>

#include "cutting_plane/risk.hpp"

namespace maxmargin {

enum class Measure { error_rate, f1, precision_at_k, recall_at_k, roc_area };

class MeasureRisk final : public Risk {
  public:
    // `positive[i]` tells of each row whether it takes part (not 0) and on which side. C multiplies the risk.
    MeasureRisk(Measure measure, const std::vector<signed char>& signs, double C, std::size_t k)
        : measure_(measure), C_(C), k_(k) {
        for (std::size_t i = 0; i < signs.size(); ++i) {
            if (signs[i] != 0) {
                (signs[i] > 0 ? positives_ : negatives_).push_back(static_cast<RowIndex>(rows_.size()));
                rows_.push_back(static_cast<RowIndex>(i));
            }
        }
        n_ = static_cast<double>(rows_.size());
    }

    const std::vector<RowIndex>& rows() const override { return rows_; }
    double weight() const override { return C_ * n_; }

    double touch(const double* scores, double* coefficients) override;

  private:
    struct Table {
        std::size_t b = 0, c = 0;  // negatives and positives with the wrong label
    };

    double delta(std::size_t b, std::size_t c) const {
        const auto P = static_cast<double>(positives_.size()), wrong = static_cast<double>(b + c);
        const auto right = P - static_cast<double>(c);
        switch (measure_) {
            case Measure::error_rate:
                return wrong / n_;
            case Measure::f1:
                return wrong > 0.0 ? wrong / (2.0 * right + wrong) : 0.0;
            case Measure::precision_at_k:
                return wrong > 0.0 ? 1.0 - right / static_cast<double>(k_) : 0.0;
            default:
                return wrong > 0.0 ? 1.0 - right / P : 0.0;
        }
    }

    Table best_error(const double* scores) const;
    Table best_f1(const double* scores) const;
    Table best_at_k(const double* scores) const;

    // The hinge of every pair: a positive is to be above a negative by 1.
    double touch_pairs(const double* scores, double* coefficients) const;

    Measure measure_;
    double C_, n_ = 0.0;
    std::size_t k_;
    std::vector<RowIndex> rows_, positives_, negatives_;  // the latter as places in rows_
};
static_assert(RiskOracle<MeasureRisk>);

}  // namespace maxmargin
