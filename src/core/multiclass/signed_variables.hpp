// The dual variables of several classes as the weights see them: beta_i^m, with w_m = sum_i beta_i^m x_i, one sparse
// row per class. It is minus a variable, and for the own class of a row the sum of them all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace maxmargin {

struct SignedVariables {
    std::vector<double> values;
    std::vector<std::int32_t> rows;
    std::vector<std::int64_t> starts;  // of each class
};

// From lists of (class, variable), one list per row, which must have passed check_csr; `labels` are classes too.
inline SignedVariables signed_variables(std::span<const double> values, std::span<const std::int32_t> which,
                                        std::span<const std::int64_t> starts, std::span<const std::int32_t> labels,
                                        std::size_t classes) {
    // `visit(class, row, beta)` for all of them, row by row.
    auto for_each = [&](auto visit) {
        for (std::size_t i = 0; i < labels.size(); ++i) {
            double sum = 0.0;
            for (auto k = static_cast<std::size_t>(starts[i]); k < static_cast<std::size_t>(starts[i + 1]); ++k) {
                visit(static_cast<std::size_t>(which[k]), i, -values[k]);
                sum += values[k];
            }
            if (sum != 0.0) {
                visit(static_cast<std::size_t>(labels[i]), i, sum);
            }
        }
    };
    SignedVariables result;
    result.starts.assign(classes + 1, 0);
    for_each([&](std::size_t m, std::size_t, double) { ++result.starts[m + 1]; });
    for (std::size_t m = 0; m < classes; ++m) {
        result.starts[m + 1] += result.starts[m];
    }
    result.values.resize(static_cast<std::size_t>(result.starts.back()));
    result.rows.resize(result.values.size());
    std::vector<std::int64_t> next(result.starts.begin(), result.starts.end() - 1);
    for_each([&](std::size_t m, std::size_t i, double beta) {
        const auto place = static_cast<std::size_t>(next[m]++);
        result.values[place] = beta;
        result.rows[place] = static_cast<std::int32_t>(i);
    });
    return result;
}

}  // namespace maxmargin
