// The binary dual problem as the kernels see it: rows, one variable per row, and the sums of rows v = sum_i sign_i a_i
// x_i, which are the weights of the variables (eq. 11). The last weight is that of the constant column, the bias. Where
// it is free, it is no part of the norm and does not follow from the variables, which must fulfil sum_i sign_i a_i = 0,
// or the slope of the bias, instead (free_bias.hpp).
#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "binary/loss.hpp"
#include "numeric/regulariser.hpp"
#include "numeric/twofold.hpp"
#include "rows/row_source.hpp"
#include "run/chunks.hpp"

namespace maxmargin {

// What one coordinate step reads and writes apart from its row, side by side so that a visit costs one cache line. The
// weight of a row and its sign are one number.
struct Variable {
    double alpha;
    double curvature;  // |x_i|^2 + D_ii; the bias adds its own
    double signed_C;
    double target;  // 1 for classification, the value to predict for regression

    double C() const { return std::abs(signed_C); }
    double sign() const { return std::copysign(1.0, signed_C); }
    bool takes_part() const { return signed_C != 0.0; }
};

// The constant column of eq. 3: its value, 0 for none, and whether its weight is left out of the regulariser.
struct Bias {
    double value;
    bool free;
    double slope =
        0.0;  // what a free bias adds to the objective by itself; minus the offset of a one-class problem does
};

template <RowView Rows>
struct BinaryProblem {
    const Rows& rows;
    std::span<Variable> variables;
    Loss loss;
    Bias bias;

    static constexpr std::size_t work_of_variable = 4;  // to read one takes so many stored values' time

    std::size_t size() const { return rows.size(); }
    std::size_t features() const { return rows.features(); }
    Regulariser regulariser() const { return {bias.free, bias.slope * bias.value}; }

    // body(problem), the same with the types of its rows, for hot loops.
    template <class Body>
    decltype(auto) with_view(const Body& body) const {
        return rows.with_view([&]<class View>(const View& view) -> decltype(auto) {
            return body(BinaryProblem<View>{view, variables, loss, bias});
        });
    }

    // sign_i w.x_i
    double margin(std::size_t i, const double* w) const {
        return variables[i].sign() * (rows.dot(i, w) + bias.value * w[features()]);
    }

    // z_i
    double slack(std::size_t i, const double* w) const { return variables[i].target - margin(i, w); }

    void add_row(std::size_t i, double a, double* w) const {
        rows.axpy(i, a, w);
        w[features()] += a * bias.value;
    }

    // |x_i|^2, without the constant column.
    double squared_norm(std::size_t i) const {
        const Variable& v = variables[i];
        return v.curvature - loss.diagonal(v.C());
    }

    std::vector<double> alphas() const {
        std::vector<double> values;
        copy_alphas(values);
        return values;
    }
    template <class Values>
    void copy_alphas(Values& values, Team* team = nullptr) const {
        values.resize(size());
        Chunks(size(), work_of_variable * size()).for_each(team, [&](std::size_t, std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i) {
                values[i] = variables[i].alpha;
            }
        });
    }
    void copy_to(std::span<double> values) const {
        for (std::size_t i = 0; i < size(); ++i) {
            values[i] = variables[i].alpha;
        }
    }
    void assign(std::span<const double> alphas, Team* team = nullptr) const {
        Chunks(size(), work_of_variable * size()).for_each(team, [&](std::size_t, std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i) {
                variables[i].alpha = alphas[i];
            }
        });
    }

    // v; the last entry is the slope, up to rounding, where a free bias has its condition fulfilled.
    void sum_rows(std::vector<double>& sums) const {
        sums.assign(features() + 1, 0.0);
        add_rows(0, size(), sums.data());
    }
    // The part of v by some rows.
    void add_rows(std::size_t begin, std::size_t end, double* sums) const {
        with_view([&](const auto& view) {
            for (std::size_t i = begin; i < end; ++i) {
                const Variable& v = view.variables[i];
                if (v.alpha != 0.0) {
                    view.add_row(i, v.sign() * v.alpha, sums);
                }
            }
        });
    }

    // sum_i sign_i a_i, less the slope of the bias: zero where a free bias has its condition fulfilled.
    double imbalance() const {
        double sum = -bias.slope;
        for (const Variable& v : variables) {
            sum += v.sign() * v.alpha;
        }
        return sum;
    }

    // The dual value without the regulariser's part.
    double dual_terms() const {
        TwofoldSum sum;
        for (const Variable& v : variables) {
            if (v.alpha != 0.0) {
                sum.add(loss.dual(v.alpha, v.target, v.C()));
            }
        }
        return sum.value();
    }
};

}  // namespace maxmargin
