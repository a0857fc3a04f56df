// Risks that cutting planes minimise: convex, piecewise linear functions R of the rows' scores s_i = w.x_i. An oracle
// evaluates one and gives the cut that touches it there, R(s') >= offset - sum_i coefficients_i s'_i for all s'. A row
// may have several scores, one for each class; then weights, scores and coefficients lie as in class_kernels.hpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "multiclass_problem.hpp"
#include "orders.hpp"
#include "problem.hpp"
#include "ranked_pairs.hpp"

namespace maxmargin {

class Risk {
  public:
    virtual ~Risk() = default;
    // The rows that take part; scores and coefficients are in this order.
    virtual const std::vector<RowIndex>& rows() const = 0;
    // Scores per row: 1, or the width of the classes.
    virtual std::size_t width() const { return 1; }
    // Fills in the coefficients and returns the offset.
    virtual double touch(const double* scores, double* coefficients) = 0;
};

// The error rate (OP2): sum_i C_i max(0, 1 - y_i s_i). The violated rows (c_i = 1) are those with a margin below 1.
class HingeRisk final : public Risk {
  public:
    explicit HingeRisk(std::span<const Variable> variables) : variables_(variables) {
        for (std::size_t i = 0; i < variables.size(); ++i) {
            if (variables[i].C > 0.0) {
                rows_.push_back(static_cast<RowIndex>(i));
            }
        }
    }

    const std::vector<RowIndex>& rows() const override { return rows_; }

    double touch(const double* scores, double* coefficients) override {
        double offset = 0.0;
        for (std::size_t p = 0; p < rows_.size(); ++p) {
            const Variable& v = variables_[rows_[p]];
            const double c = v.y * scores[p] < 1.0 ? v.C : 0.0;
            coefficients[p] = c * v.y;
            offset += c;
        }
        return offset;
    }

  private:
    std::span<const Variable> variables_;
    std::vector<RowIndex> rows_;
};

// Pairs in the wrong order (OP5): C / m sum over pairs max(0, 1 - (s_i - s_j)).
class PairRisk final : public Risk {
  public:
    PairRisk(RankedPairs& pairs, double C) : pairs_(pairs), scale_(C / pairs.total()) {}

    const std::vector<RowIndex>& rows() const override { return pairs_.rows(); }

    double touch(const double* scores, double* coefficients) override {
        return scale_ * pairs_.violated(scores, scale_, coefficients);
    }

  private:
    RankedPairs& pairs_;
    double scale_;
};

// The loss of Crammer and Singer: sum_i C_i max(0, max_m 1 - (s_i^y - s_i^m)).
class CrammerSingerRisk final : public Risk {
  public:
    CrammerSingerRisk(const MulticlassVariables& variables, std::size_t classes)
        : variables_(variables), classes_(classes), width_(class_width(classes)) {
        for (std::size_t i = 0; i < variables.rows.size(); ++i) {
            if (variables.rows[i].C > 0.0) {
                rows_.push_back(static_cast<RowIndex>(i));
            }
        }
    }

    const std::vector<RowIndex>& rows() const override { return rows_; }
    std::size_t width() const override { return width_; }

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
};

}  // namespace maxmargin
