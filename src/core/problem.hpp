// The binary dual problem as the kernels see it: rows, one variable per row, and the weights w = sum_i y_i a_i x_i (eq.
// 11). The last weight is that of the constant column, the bias. Where it is free, it is no part of the norm and does
// not follow from the variables, which must fulfil sum_i y_i a_i = 0 instead (free_bias.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "loss.hpp"

namespace maxmargin {

// What one coordinate step reads and writes apart from its row, side by side so that a visit costs one cache line.
struct Variable {
    double alpha;
    double curvature;  // |x_i|^2 + D_ii; the bias adds its own
    double C;
    double y;
};

// The constant column of eq. 3: its value, 0 for none, and whether its weight is left out of the regulariser.
struct Bias {
    double value;
    bool free;
};

template <class Rows>
struct BinaryProblem {
    const Rows& rows;
    std::span<Variable> variables;
    Loss loss;
    double bias;
    bool free_bias;

    std::size_t size() const { return rows.size(); }
    std::size_t features() const { return rows.features(); }

    // y_i w.x_i
    double margin(std::size_t i, const double* w) const {
        return variables[i].y * (rows.dot(i, w) + bias * w[features()]);
    }

    // z_i
    double slack(std::size_t i, const double* w) const { return 1.0 - margin(i, w); }

    void add_row(std::size_t i, double a, double* w) const {
        rows.axpy(i, a, w);
        w[features()] += a * bias;
    }

    // |w|^2 as the regulariser counts it.
    double squared_norm(const std::vector<double>& w) const { return regularised_dot(w, w); }
    double regularised_dot(const std::vector<double>& a, const std::vector<double>& b) const {
        return std::inner_product(a.begin(), a.end() - (free_bias ? 1 : 0), b.begin(), 0.0);
    }

    std::vector<double> alphas() const {
        std::vector<double> values;
        copy_alphas(values);
        return values;
    }
    void copy_alphas(std::vector<double>& values) const {
        values.resize(size());
        for (std::size_t i = 0; i < size(); ++i) {
            values[i] = variables[i].alpha;
        }
    }
    void assign(const std::vector<double>& alphas) const {
        for (std::size_t i = 0; i < size(); ++i) {
            variables[i].alpha = alphas[i];
        }
    }

    // sum_i y_i a_i x_i; the last entry is zero, up to rounding, where a free bias has its condition fulfilled.
    void sum_rows(std::vector<double>& w) const {
        w.assign(features() + 1, 0.0);
        for (std::size_t i = 0; i < size(); ++i) {
            if (variables[i].alpha != 0.0) {
                add_row(i, variables[i].y * variables[i].alpha, w.data());
            }
        }
    }
};

}  // namespace maxmargin
