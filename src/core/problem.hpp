// The binary dual problem as the kernels see it: rows, one variable per row, and the weights w = sum_i y_i a_i x_i (eq.
// 11).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "loss.hpp"

namespace maxmargin {

// What one coordinate step reads and writes apart from its row, side by side so that a visit costs one cache line.
struct Variable {
    double alpha;
    double curvature;  // Q_ii + D_ii
    double C;
    double y;
};

template <class Rows>
struct BinaryProblem {
    const Rows& rows;
    std::span<Variable> variables;
    Loss loss;
    double bias;

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

    void rebuild_weights(std::vector<double>& w) const {
        w.assign(features() + 1, 0.0);
        for (std::size_t i = 0; i < size(); ++i) {
            if (variables[i].alpha != 0.0) {
                add_row(i, variables[i].y * variables[i].alpha, w.data());
            }
        }
    }
};

}  // namespace maxmargin
