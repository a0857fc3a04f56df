// A private copy of sparse rows for sweeps, which read the matrix many times. It is smaller and kinder to caches in
// four ways:
//
// - Columns are numbered by falling frequency, so that the weights in use all the time are neighbours.
// - Columns that occur in one row only are folded into one column of that row, whose value is the length of theirs.
//   This is exact: their weights are always multiples of the row's values, so that one number tells them all, and
//   neither scores nor norms change.
// - The 65,536 most frequent columns have indices of 16 bits ("near"), the others of 32 ("far").
// - Values are float where that is exact, or exact enough for sweeps.
//
// It is a matrix of its own, with other columns than the user's: the same problem, whose weights `expand` to those of
// the user's columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "numeric/compiler.hpp"
#include "numeric/huge_array.hpp"
#include "rows/rows.hpp"

namespace maxmargin {

// Tolerances below this ask for values without rounding.
inline constexpr double exact_below = 1e-6;

inline constexpr std::uint32_t no_column = 0xffffffff;  // the rank of a column without a weight of its own
struct ColumnOrder;

class PackedRows {
  public:
    // `exact` asks for values without rounding; otherwise they are floats.
    PackedRows(const CsrRows& rows, bool exact);

    // Whether no value was rounded.
    bool is_exact() const { return exact_; }

    std::size_t size() const { return size_; }
    // Where columns are folded, each row has one of its own after all others.
    std::size_t features() const { return kept_ + (folds_ ? size_ : 0); }
    std::size_t stored() const { return rows_[size_].start + (folds_ ? size_ : 0); }
    std::size_t stored(std::size_t i) const { return rows_[i + 1].start - rows_[i].start + (folds_ ? 1 : 0); }

    // body(view), with the type of the values.
    template <class Body>
    decltype(auto) with_view(const Body& body) const {
        return floats_ ? body(View<float>{*this, floats_.get()}) : body(View<double>{*this, doubles_.get()});
    }

    double dot(std::size_t i, const double* w) const;
    void axpy(std::size_t i, double a, double* w) const;

    // visit(column, value) for every entry.
    template <class Visit>
    void for_each(std::size_t i, Visit visit) const {
        const Row &row = rows_[i], &next = rows_[i + 1];
        const std::size_t count = next.near - row.near;
        for (std::size_t k = row.start; k < next.start; ++k) {
            const std::size_t n = k - row.start;
            visit(n < count ? std::size_t{near_[row.near + n]} : std::size_t{far_[row.start - row.near + n - count]},
                  floats_ ? static_cast<double>(floats_[k]) : doubles_[k]);
        }
        if (folds_) {
            visit(kept_ + i, row.folded);
        }
    }

    void prefetch_start(std::size_t i) const { MAXMARGIN_PREFETCH(&rows_[i]); }
    void prefetch(std::size_t i) const {
        with_view([i](const auto& view) { view.prefetch(i); });
    }

    // visit(user's column, column of the copy, factor): where the weights of the user's columns are. Columns that no
    // row has are not visited.
    template <class Visit>
    void for_each_place(Visit visit) const {
        for (std::size_t j = 0; j < rank_.size(); ++j) {
            if (rank_[j] != no_column) {
                visit(j, std::size_t{rank_[j]}, 1.0);
            }
        }
        for (std::size_t i = 0; i < size_ && folds_; ++i) {
            for (std::size_t k = rows_[i].alone; k < rows_[i + 1].alone; ++k) {
                if (alone_[k].value != 0.0) {
                    visit(alone_[k].column, kept_ + i, alone_[k].value / rows_[i].folded);
                }
            }
        }
    }

    // From weights of the copy's columns to weights of the user's, the bias last in both.
    void expand(const std::vector<double>& packed, std::vector<double>& full) const;

  private:
    struct Row {
        std::size_t start;  // of its values; its far indices begin at start - near
        std::size_t near;   // of its near indices
        std::size_t alone;  // of its folded columns
        double folded;      // value of the row's own column
    };
    struct Alone {
        double value;
        std::size_t column;
    };

    template <class Value>
    void fill(const CsrRows& rows, const ColumnOrder& columns, HugeArray<Value>& values);
    template <class Value, class Given>
    double add_row(const Given* x, ColumnIndices columns, std::size_t count, Row& at, Value* values, Value* later);

    template <class Value>
    struct View {
        const PackedRows& rows;
        const Value* values;

        std::size_t size() const { return rows.size(); }
        std::size_t features() const { return rows.features(); }
        std::size_t stored(std::size_t i) const { return rows.stored(i); }

        double dot(std::size_t i, const double* w) const {
            const Row &row = rows.rows_[i], &next = rows.rows_[i + 1];
            const Value* x = values + row.start;
            const std::uint16_t* near = rows.near_.get() + row.near;
            const std::size_t count = next.near - row.near, all = next.start - row.start;
            double s0 = rows.folds_ ? row.folded * w[rows.kept_ + i] : 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0;
            std::size_t k = 0;
            for (; k + 4 <= count; k += 4) {
                s0 += static_cast<double>(x[k]) * w[near[k]];
                s1 += static_cast<double>(x[k + 1]) * w[near[k + 1]];
                s2 += static_cast<double>(x[k + 2]) * w[near[k + 2]];
                s3 += static_cast<double>(x[k + 3]) * w[near[k + 3]];
            }
            for (; k < count; ++k) {
                s0 += static_cast<double>(x[k]) * w[near[k]];
            }
            const std::uint32_t* far = rows.far_.get() + (row.start - row.near);
            for (; k < all; ++k) {
                s1 += static_cast<double>(x[k]) * w[far[k - count]];
            }
            return (s0 + s1) + (s2 + s3);
        }

        void axpy(std::size_t i, double a, double* w) const {
            const Row &row = rows.rows_[i], &next = rows.rows_[i + 1];
            const Value* x = values + row.start;
            const std::uint16_t* near = rows.near_.get() + row.near;
            const std::size_t count = next.near - row.near, all = next.start - row.start;
            for (std::size_t k = 0; k < count; ++k) {
                w[near[k]] += a * static_cast<double>(x[k]);
            }
            const std::uint32_t* far = rows.far_.get() + (row.start - row.near);
            for (std::size_t k = count; k < all; ++k) {
                w[far[k - count]] += a * static_cast<double>(x[k]);
            }
            if (rows.folds_) {
                w[rows.kept_ + i] += a * row.folded;
            }
        }

        RowEntries<Value> entries(std::size_t i, RowBuffer&) const {
            const Row &row = rows.rows_[i], &next = rows.rows_[i + 1];
            return {values + row.start,   rows.near_.get() + row.near, rows.far_.get() + (row.start - row.near),
                    next.near - row.near, next.start - row.start,      rows.folds_ ? row.folded : 0.0,
                    rows.kept_ + i};
        }

        void prefetch_start(std::size_t i) const { rows.prefetch_start(i); }
        void prefetch(std::size_t i) const {
            const Row &row = rows.rows_[i], &next = rows.rows_[i + 1];
            prefetch_bytes(values + row.start, (next.start - row.start) * sizeof(Value));
            prefetch_bytes(rows.near_.get() + row.near, (next.near - row.near) * sizeof(std::uint16_t));
            prefetch_bytes(rows.far_.get() + (row.start - row.near),
                           (next.start - next.near - row.start + row.near) * sizeof(std::uint32_t));
        }
    };

    HugeArray<Row> rows_;  // one more than there are rows
    HugeArray<float> floats_;
    HugeArray<double> doubles_;  // one of the two is empty
    HugeArray<std::uint16_t> near_;
    HugeArray<std::uint32_t> far_;
    HugeArray<Alone> alone_;
    std::vector<std::uint32_t> rank_;  // of each of the user's columns, or no_column
    std::size_t size_, kept_;
    bool folds_;
    bool exact_ = true;
};

}  // namespace maxmargin
