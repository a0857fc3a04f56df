// The columns of a working set of features, copied from the rows when a feature first enters it: its entries times the
// scale of their rows, side by side. The constant column of the bias is feature number `features`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "binary/columns.hpp"
#include "binary/problem.hpp"
#include "numeric/huge_array.hpp"
#include "numeric/row_entries.hpp"
#include "numeric/simd.hpp"
#include "run/monitor.hpp"

namespace maxmargin {

class L1Columns {
  public:
    static constexpr RowIndex no_row = ~RowIndex{0};

    // `scale[i]` multiplies the entries of row i, and is zero where it takes no part.
    L1Columns(std::vector<double> scale, std::size_t count) : scale_(std::move(scale)), place_(count, absent) {}

    std::size_t count() const { return place_.size(); }
    bool has(std::size_t j) const { return place_[j] != absent; }
    // Of a column that was fetched.
    const Column& operator[](std::size_t j) const { return fetched_[place_[j]].column; }
    double square(std::size_t j) const { return fetched_[place_[j]].square; }
    std::size_t size(std::size_t j) const { return fetched_[place_[j]].column.rows.size(); }

    // Counts the entries of each column, if that has not been done, and looks at all of them while it does:
    // visit(i, j, x).
    template <RowSource Rows, class Visit = void (*)(std::size_t, std::size_t, double)>
    void count_entries(
        const BinaryProblem<Rows>& problem, Monitor& monitor,
        const Visit& visit = [](std::size_t, std::size_t, double) {}) {
        if (most_.empty()) {
            most_.resize(count());
            for_each(
                problem,
                [&](std::size_t i, std::size_t j, double x) {
                    ++most_[j];
                    visit(i, j, x);
                },
                monitor);
        }
    }

    // Copies those columns that are not there yet. False when time has run out.
    template <RowSource Rows>
    bool fetch(const BinaryProblem<Rows>& problem, std::span<const std::uint32_t> features, Monitor& monitor) {
        count_entries(problem, monitor);
        std::vector<Room> rooms(count());
        std::vector<std::size_t> starts;
        const std::size_t before = fetched_.size();
        std::size_t total = 0;
        for (const std::uint32_t j : features) {
            if (!has(j)) {
                place_[j] = static_cast<std::uint32_t>(fetched_.size());
                fetched_.emplace_back();
                starts.push_back(total + 1);
                total += most_[j] + 1;
            }
        }
        if (starts.empty()) {
            return !monitor.ended();
        }
        Block& block = blocks_.emplace_back(total);
        for (const std::uint32_t j : features) {
            if (place_[j] >= before) {
                const std::size_t start = starts[place_[j] - before];
                rooms[j] = {start, start + most_[j]};
                block.rows[start - 1] = no_row;
            }
        }
        const bool complete = for_each(
            problem,
            [&, rows = block.rows.get(), values = block.values.get()](std::size_t i, std::size_t j, double x) {
                Room& room = rooms[j];
                if (room.next == 0) {  // not wanted
                    return;
                }
                if (rows[room.next - 1] == i) {  // repeated indices add up
                    values[room.next - 1] += x;
                } else if (room.next < room.end) {  // always, unless the data are changed meanwhile
                    rows[room.next] = static_cast<RowIndex>(i);
                    values[room.next++] = x;
                }
            },
            monitor);
        for (const std::uint32_t j : features) {
            if (place_[j] >= before) {
                const std::size_t start = starts[place_[j] - before], size = rooms[j].next - start;
                const double* values = block.values.get() + start;
                const Column column{{block.rows.get() + start, size}, {values, size}};
                fetched_[place_[j]] = {column, column, dense_squared_norm(values, size)};
            }
        }
        return complete;
    }

    // From now on the columns of these features have only rows that have a number in `numbers`, by that number.
    void restrict_to(std::span<const std::uint32_t> features, const std::vector<RowIndex>& numbers) {
        std::size_t total = 0;
        for (const std::uint32_t j : features) {
            total += fetched_[place_[j]].whole.rows.size();
        }
        if (total > near_.size) {
            near_ = Block(total);
        }
        std::size_t end = 0;
        for (const std::uint32_t j : features) {
            Fetched& own = fetched_[place_[j]];
            const Column& whole = own.whole;
            const std::size_t start = end;
            for (std::size_t k = 0; k < whole.rows.size(); ++k) {
                const RowIndex number = numbers[whole.rows[k]];
                near_.rows[end] = number;
                near_.values[end] = whole.values[k];
                end += number != no_row ? 1 : 0;
            }
            const double* values = near_.values.get() + start;
            own.column = {{near_.rows.get() + start, end - start}, {values, end - start}};
            own.square = dense_squared_norm(values, end - start);
        }
    }

    // All rows again.
    void unrestrict(std::span<const std::uint32_t> features) {
        for (const std::uint32_t j : features) {
            Fetched& own = fetched_[place_[j]];
            if (own.column.rows.data() != own.whole.rows.data()) {
                own.column = own.whole;
                own.square = dense_squared_norm(own.whole.values.data(), own.whole.values.size());
            }
        }
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

    // Where the next entry of a column goes, and where its room ends. Before the first one is a place that no row has.
    struct Room {
        std::size_t next = 0, end = 0;
    };
    struct Fetched {
        Column whole, column;  // of all rows, and of those that are looked at
        double square = 0.0;   // of the latter
    };
    // What one call has fetched; it never moves.
    struct Block {
        explicit Block(std::size_t count)
            : size(count), rows(make_huge_array<RowIndex>(count)), values(make_huge_array<double>(count)) {}
        std::size_t size;
        HugeArray<RowIndex> rows;
        HugeArray<double> values;
    };

    template <RowSource Rows, class Visit>
    bool for_each(const BinaryProblem<Rows>& problem, const Visit& visit, Monitor& monitor) const {
        const std::size_t constant = problem.features();
        RowBuffer buffer;
        return problem.rows.with_view([&](const auto& rows) {
            for (std::size_t i = 0; i < rows.size(); ++i) {
                const double scale = scale_[i];
                if (scale == 0.0) {
                    continue;
                }
                if (monitor.poll(rows.stored(i))) {
                    return false;
                }
                const auto row = rows.entries(i, buffer);
                for (std::size_t k = 0; k < row.count; ++k) {
                    if (const double x = static_cast<double>(row.values[k]); x != 0.0) {
                        visit(i, row.far[k], scale * x);
                    }
                }
                if (problem.bias.value != 0.0) {
                    visit(i, constant, scale * problem.bias.value);
                }
            }
            return true;
        });
    }

    std::vector<double> scale_;
    std::vector<std::uint32_t> place_;
    std::vector<Fetched> fetched_;
    std::vector<Block> blocks_;
    Block near_{0};
    std::vector<std::uint32_t> most_;  // entries of each column, at the most
};

}  // namespace maxmargin
