// What a kernel may ask of rows, whoever holds them: the user's arrays today, blocks from disk or a packed copy as
// well.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace maxmargin {

using RowIndex = std::uint32_t;

// What a loop over rows needs. w and p have features() + 1 entries, of which rows leave the last one alone.
template <class Rows>
concept RowView = requires(const Rows& rows, std::size_t i, double* w, const double* p) {
    { rows.size() } -> std::convertible_to<std::size_t>;
    { rows.features() } -> std::convertible_to<std::size_t>;
    { rows.stored(i) } -> std::convertible_to<std::size_t>;  // of one row
    { rows.dot(i, p) } -> std::convertible_to<double>;
    rows.axpy(i, 1.0, w);  // w += 1.0 * x_i
    rows.prefetch_start(i);
    rows.prefetch(i);
};

// Rows whose storage type is known at run time only. `with_view` tells it to a body, for loops over many short rows.
template <class Rows>
concept RowSource = RowView<Rows> && requires(const Rows& rows, std::size_t i) {
    { rows.stored() } -> std::convertible_to<std::size_t>;  // of all rows
    rows.for_each(i, [](std::size_t, double) {});
    rows.with_view([](const auto&) {});
    // Views of rows with less than 2^32 features have entries, perhaps converted to a buffer. `for_each_place` visits
    // which of the user's columns has its weight where, and by which factor.
    rows.for_each_place([](std::size_t, std::size_t, double) {});
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
