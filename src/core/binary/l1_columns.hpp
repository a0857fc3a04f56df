// The columns of a working set of features, copied from the rows when a feature first enters it: its entries times the
// scale of their rows, side by side. The constant column of the bias is feature number `features`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "binary/problem.hpp"
#include "run/monitor.hpp"

namespace maxmargin {

struct ColumnEntry {
    double value;
    RowIndex row;
};

class L1Columns {
  public:
    // `scale[i]` multiplies the entries of row i, and is zero where it takes no part.
    template <RowSource Rows>
    L1Columns(const BinaryProblem<Rows>& problem, std::vector<double> scale, Monitor& monitor)
        : scale_(std::move(scale)), sizes_(problem.features() + 1) {
        // An index that a row repeats is one entry, the sum, so that the square of a column needs the entry so far.
        std::vector<Tally> tallies(problem.features() + 1);
        for_each(
            problem,
            [&](std::size_t i, std::size_t j, double x) {
                Tally& tally = tallies[j];
                if (tally.count > 0 && tally.row == i) {
                    tally.square += x * (2.0 * tally.value + x);
                    tally.value += x;
                    return;
                }
                tally.square += x * x;
                tally.value = x;
                tally.row = static_cast<RowIndex>(i);
                ++tally.count;
            },
            monitor);
        squares_.resize(tallies.size());
        for (std::size_t j = 0; j < tallies.size(); ++j) {
            sizes_[j] = tallies[j].count;
            squares_[j] = tallies[j].square;
        }
        place_.assign(tallies.size(), absent);
    }

    std::size_t count() const { return squares_.size(); }
    // |x_j|^2, and the number of entries.
    double square(std::size_t j) const { return squares_[j]; }
    std::size_t size(std::size_t j) const { return sizes_[j]; }

    // Copies those columns that are not there yet. False when time has run out.
    template <RowSource Rows>
    bool fetch(const BinaryProblem<Rows>& problem, std::span<const std::uint32_t> features, Monitor& monitor) {
        std::vector<std::uint64_t> wanted((count() + 63) / 64);
        bool any = false;
        for (const std::uint32_t j : features) {
            if (place_[j] == absent) {
                place_[j] = columns_.size();
                columns_.emplace_back().reserve(sizes_[j]);
                wanted[j / 64] |= std::uint64_t{1} << (j % 64);
                any = true;
            }
        }
        return !any || for_each(
                           problem,
                           [&](std::size_t i, std::size_t j, double x) {
                               if ((wanted[j / 64] >> (j % 64) & 1) == 0) {
                                   return;
                               }
                               std::vector<ColumnEntry>& column = columns_[place_[j]];
                               if (!column.empty() && column.back().row == i) {
                                   column.back().value += x;
                               } else {
                                   column.push_back({x, static_cast<RowIndex>(i)});
                               }
                           },
                           monitor);
    }

    std::span<const ColumnEntry> operator[](std::size_t j) const { return columns_[place_[j]]; }

  private:
    struct Tally {
        double square = 0.0, value = 0.0;
        RowIndex row = 0;
        std::uint32_t count = 0;
    };
    static constexpr std::size_t absent = ~std::size_t{0};

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
    std::vector<double> squares_;
    std::vector<std::uint32_t> sizes_;
    std::vector<std::size_t> place_;
    std::vector<std::vector<ColumnEntry>> columns_;
};

}  // namespace maxmargin
