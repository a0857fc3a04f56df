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

#include <algorithm>
#include <cstddef>
#include <numeric>
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

    double touch(const double* scores, double* coefficients) override {
        std::fill_n(coefficients, rows_.size(), 0.0);
        // Ties keep the order of the rows, so that the same scores give the same cut.
        std::sort(positives_.begin(), positives_.end(),
                  [scores](RowIndex a, RowIndex b) { return scores[a] != scores[b] ? scores[a] < scores[b] : a < b; });
        std::sort(negatives_.begin(), negatives_.end(),
                  [scores](RowIndex a, RowIndex b) { return scores[a] != scores[b] ? scores[a] > scores[b] : a < b; });
        if (measure_ == Measure::roc_area) {
            return touch_pairs(scores, coefficients);
        }
        const Table best = measure_ == Measure::error_rate ? best_error(scores)
                           : measure_ == Measure::f1       ? best_f1(scores)
                                                           : best_at_k(scores);
        for (std::size_t p = 0; p < best.c; ++p) {
            coefficients[positives_[p]] = C_;
        }
        for (std::size_t q = 0; q < best.b; ++q) {
            coefficients[negatives_[q]] = -C_;
        }
        return C_ * n_ * delta(best.b, best.c);
    }

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

    Table best_error(const double* scores) const {
        Table best;
        while (best.c < positives_.size() && scores[positives_[best.c]] < 1.0) {
            ++best.c;
        }
        while (best.b < negatives_.size() && scores[negatives_[best.b]] > -1.0) {
            ++best.b;
        }
        return best;
    }

    Table best_f1(const double* scores) const {
        const std::size_t P = positives_.size();
        double flipped = 0.0;  // A(c)
        for (const RowIndex p : positives_) {
            flipped -= scores[p];
        }
        Table best;
        double highest = 0.0, above = 0.0;  // of the true labels; B(b)
        std::size_t b = 0;
        for (std::size_t a = 0; a <= P; ++a) {
            const std::size_t c = P - a;
            if (a > 0) {
                flipped += scores[positives_[c]];
            }
            while (b < negatives_.size() && n_ * (delta(b + 1, c) - delta(b, c)) + scores[negatives_[b]] > 0.0) {
                above += scores[negatives_[b]];
                ++b;
            }
            const double value = n_ * delta(b, c) + flipped + above;
            if (value > highest) {
                highest = value;
                best = {b, c};
            }
        }
        return best;
    }

    Table best_at_k(const double* scores) const {
        const std::size_t P = positives_.size(), N = negatives_.size();
        // k = P - c + b, so that c is at least P - k and at most P - k + N.
        const std::size_t first = P > k_ ? P - k_ : 0, last = std::min(P, P + N - k_);
        double value = 0.0;
        std::size_t b = k_ + first - P;
        for (std::size_t p = 0; p < first; ++p) {
            value -= scores[positives_[p]];
        }
        for (std::size_t q = 0; q < b; ++q) {
            value += scores[negatives_[q]];
        }
        Table best;
        double highest = 0.0;  // of the true labels
        for (std::size_t c = first; c <= last; ++c, ++b) {
            if (n_ * delta(b, c) + value > highest) {
                highest = n_ * delta(b, c) + value;
                best = {b, c};
            }
            if (c < last) {
                value += scores[negatives_[b]] - scores[positives_[c]];
            }
        }
        return best;
    }

    // The hinge of every pair: a positive is to be above a negative by 1.
    double touch_pairs(const double* scores, double* coefficients) const {
        const double share =
            C_ * n_ / (static_cast<double>(positives_.size()) * static_cast<double>(negatives_.size()));
        double pairs = 0.0;
        // Positives from the lowest on, so that ever fewer negatives are within reach.
        std::size_t within = negatives_.size();
        std::vector<double> lost(negatives_.size() + 1);
        for (const RowIndex p : positives_) {
            while (within > 0 && !(scores[negatives_[within - 1]] > scores[p] - 1.0)) {
                --within;
            }
            coefficients[p] = share * static_cast<double>(within);
            pairs += static_cast<double>(within);
            lost[within] += 1.0;
        }
        double reaching = 0.0;
        for (std::size_t q = negatives_.size(); q-- > 0;) {
            reaching += lost[q + 1];
            coefficients[negatives_[q]] = -share * reaching;
        }
        return share * pairs;
    }

    Measure measure_;
    double C_, n_ = 0.0;
    std::size_t k_;
    std::vector<RowIndex> rows_, positives_, negatives_;  // the latter as places in rows_
};
static_assert(RiskOracle<MeasureRisk>);

}  // namespace maxmargin
