// The columns of a working set of features, copied from the rows when a feature first enters it: its entries times the
// scale of their rows, side by side. The constant column of the bias is feature number `features`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "binary/columns.hpp"
#include "binary/problem.hpp"
#include "numeric/simd.hpp"
#include "run/monitor.hpp"

namespace maxmargin {

class L1Columns {
  public:
    // `scale[i]` multiplies the entries of row i, and is zero where it takes no part.
    L1Columns(std::vector<double> scale, std::size_t count) : scale_(std::move(scale)), place_(count, absent) {}

    std::size_t count() const { return place_.size(); }
    // Of a column that was fetched.
    Column operator[](std::size_t j) const { return fetched_[place_[j]].column; }
    double square(std::size_t j) const { return fetched_[place_[j]].square; }
    std::size_t size(std::size_t j) const { return fetched_[place_[j]].column.rows.size(); }

    // Copies those columns that are not there yet. False when time has run out.
    template <RowSource Rows>
    bool fetch(const BinaryProblem<Rows>& problem, std::span<const std::uint32_t> features, Monitor& monitor) {
        const std::size_t before = fetched_.size();
        std::vector<std::uint64_t> wanted((count() + 63) / 64);
        for (const std::uint32_t j : features) {
            if (place_[j] == absent) {
                place_[j] = static_cast<std::uint32_t>(fetched_.size());
                fetched_.emplace_back();
                wanted[j / 64] |= std::uint64_t{1} << (j % 64);
            }
        }
        if (fetched_.size() == before) {
            return true;
        }
        // visit(number among the new ones, row, entry)
        auto for_each_wanted = [&](auto visit) {
            return for_each(
                problem,
                [&](std::size_t i, std::size_t j, double x) {
                    if ((wanted[j / 64] >> (j % 64) & 1) != 0) {
                        visit(place_[j] - before, static_cast<RowIndex>(i), x);
                    }
                },
                monitor);
        };
        std::vector<Cursor> cursors(fetched_.size() - before);
        if (!for_each_wanted([&](std::size_t p, RowIndex, double) { ++cursors[p].end; })) {
            return false;
        }
        std::size_t total = 0;
        for (std::size_t p = 0; p < cursors.size(); ++p) {
            fetched_[before + p].start = total;
            total += std::exchange(cursors[p].end, total);
        }
        Block& block = blocks_.emplace_back(total);
        const bool complete = for_each_wanted([&](std::size_t p, RowIndex i, double x) {
            Cursor& cursor = cursors[p];
            if (cursor.next_row == i + 1) {  // repeated indices add up
                block.values[cursor.end - 1] += x;
                return;
            }
            block.rows[cursor.end] = i;
            block.values[cursor.end] = x;
            cursor = {cursor.end + 1, i + 1};
        });
        for (std::size_t p = 0; p < cursors.size(); ++p) {
            Fetched& own = fetched_[before + p];
            const std::size_t size = cursors[p].end - own.start;
            const double* values = block.values.get() + own.start;
            own.column = {{block.rows.get() + own.start, size}, {values, size}};
            own.square = dense_squared_norm(values, size);
        }
        return complete;
    }

    // |x_j|^2 of all columns, by a pass over the rows. An index that a row repeats is one entry, the sum.
    template <RowSource Rows>
    std::vector<double> all_squares(const BinaryProblem<Rows>& problem, Monitor& monitor) const {
        struct Tally {
            double square = 0.0, value = 0.0;
            RowIndex next_row = 0;  // after that of `value`
        };
        std::vector<Tally> tallies(count());
        for_each(
            problem,
            [&](std::size_t i, std::size_t j, double x) {
                Tally& tally = tallies[j];
                if (tally.next_row == i + 1) {
                    tally.square += x * (2.0 * tally.value + x);
                    tally.value += x;
                    return;
                }
                tally = {tally.square + x * x, x, static_cast<RowIndex>(i + 1)};
            },
            monitor);
        std::vector<double> squares(count());
        for (std::size_t j = 0; j < count(); ++j) {
            squares[j] = tallies[j].square;
        }
        return squares;
    }

  private:
    static constexpr std::uint32_t absent = ~std::uint32_t{0};

    struct Fetched {
        Column column;
        double square = 0.0;
        std::size_t start = 0;  // in its block
    };
    // Where the next entry of a column goes, and one more than the row of the last.
    struct Cursor {
        std::size_t end = 0;
        RowIndex next_row = 0;
    };
    // What one call has fetched; it never moves.
    struct Block {
        explicit Block(std::size_t size)
            : rows(std::make_unique_for_overwrite<RowIndex[]>(size)),
              values(std::make_unique_for_overwrite<double[]>(size)) {}
        std::unique_ptr<RowIndex[]> rows;
        std::unique_ptr<double[]> values;
    };

    template <RowSource Rows, class Visit>
    bool for_each(const BinaryProblem<Rows>& problem, const Visit& visit, Monitor& monitor) const {
        const std::size_t constant = problem.features();
        for (std::size_t i = 0; i < problem.size(); ++i) {
            const double scale = scale_[i];
            if (scale == 0.0) {
                continue;
            }
            if (monitor.poll(problem.rows.stored(i))) {
                return false;
            }
            problem.rows.for_each(i, [&](std::size_t j, double x) {
                if (x != 0.0) {
                    visit(i, j, scale * x);
                }
            });
            if (problem.bias.value != 0.0) {
                visit(i, constant, scale * problem.bias.value);
            }
        }
        return true;
    }

    std::vector<double> scale_;
    std::vector<std::uint32_t> place_;
    std::vector<Fetched> fetched_;
    std::vector<Block> blocks_;
};

}  // namespace maxmargin
