// What a kernel may ask of rows, whoever holds them: the user's arrays today, blocks from disk or a packed copy as
// well.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace maxmargin {

using RowIndex = std::uint32_t;

// w and p have features() + 1 entries, of which a row source leaves the last one alone.
template <class Rows>
concept RowSource = requires(const Rows& rows, std::size_t i, double* w, const double* p) {
    typename Rows::value_type;
    { rows.size() } -> std::convertible_to<std::size_t>;
    { rows.features() } -> std::convertible_to<std::size_t>;
    { rows.stored() } -> std::convertible_to<std::size_t>;   // of all rows
    { rows.stored(i) } -> std::convertible_to<std::size_t>;  // of one
    { rows.dot(i, p) } -> std::convertible_to<double>;
    rows.axpy(i, 1.0, w);  // w += 1.0 * x_i
    rows.for_each(i, [](std::size_t, typename Rows::value_type) {});
    rows.prefetch_start(i);
    rows.prefetch(i);
};

// The rows that take part in a problem; those of weight zero do not.
template <class Variables>
std::vector<RowIndex> rows_taking_part(const Variables& variables) {
    std::vector<RowIndex> rows;
    rows.reserve(variables.size());
    for (std::size_t i = 0; i < variables.size(); ++i) {
        if (variables[i].takes_part()) {
            rows.push_back(static_cast<RowIndex>(i));
        }
    }
    return rows;
}

}  // namespace maxmargin
