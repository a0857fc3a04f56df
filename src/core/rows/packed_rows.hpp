// A private copy of sparse rows for sweeps, which read the matrix many times. It is smaller and kinder to caches in
// four ways:
//
// - Columns are numbered by falling frequency, so that the weights in use all the time are neighbours.
// - Columns that occur in one row only are folded into one column of that row, whose value is the length of theirs.
// This
//   is exact: their weights are always multiples of the row's values, so that one number tells them all, and neither
//   scores nor norms change.
// - The 65,536 most frequent columns have indices of 16 bits ("near"), the others of 32 ("far").
// - Values are float where that is exact, or exact enough for sweeps.
//
// It is a matrix of its own, with other columns than the user's: the same problem, whose weights `expand` to those of
// the user's columns.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

#include "numeric/huge_array.hpp"
#include "rows/rows.hpp"

namespace maxmargin {

// How columns of the user's matrix are numbered in a packed copy.
struct ColumnOrder {
    static constexpr std::uint32_t none = 0xffffffff;  // a column that has no weight

    std::vector<std::uint32_t> rank;  // of each column, or none
    std::size_t kept = 0;
    std::size_t near = 0, far = 0, alone = 0;  // entries of each kind
};

template <class Value>
class PackedRows {
  public:
    using value_type = double;

    template <class Given, class Index>
    PackedRows(const CsrRows<Given, Index>& rows, const ColumnOrder& columns)
        : rows_(make_huge_array<Row>(rows.size() + 1)),
          values_(make_huge_array<Value>(columns.near + columns.far + 1)),
          near_(make_huge_array<std::uint16_t>(columns.near + 1)),
          far_(make_huge_array<std::uint32_t>(columns.far + 1)),
          alone_(make_huge_array<Alone>(columns.alone + 1)),
          rank_(columns.rank),
          size_(rows.size()),
          kept_(columns.kept),
          folds_(columns.alone > 0) {
        std::vector<Value> later(1);
        Row at{0, 0, 0, 0.0};
        for (std::size_t i = 0; i < size_; ++i) {
            rows_[i] = at;
            later.resize(std::max(later.size(), rows.stored(i) + 1));
            rows_[i].folded = add_row(rows.values(i), rows.indices(i), rows.stored(i), at, later.data());
        }
        rows_[size_] = at;
    }

    // Whether no value was rounded.
    bool is_exact() const { return exact_; }

    static constexpr std::uint32_t most_near = 1 << 16;

    std::size_t size() const { return size_; }
    // Where columns are folded, each row has one of its own after all others.
    std::size_t features() const { return kept_ + (folds_ ? size_ : 0); }
    std::size_t stored() const { return rows_[size_].start + (folds_ ? size_ : 0); }
    std::size_t stored(std::size_t i) const { return rows_[i + 1].start - rows_[i].start + (folds_ ? 1 : 0); }

    double dot(std::size_t i, const double* w) const {
        const Row &row = rows_[i], &next = rows_[i + 1];
        const Value* x = values_.get() + row.start;
        const std::uint16_t* near = near_.get() + row.near;
        const std::size_t count = next.near - row.near, all = next.start - row.start;
        double s0 = folds_ ? row.folded * w[kept_ + i] : 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0;
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
        const std::uint32_t* far = far_.get() + (row.start - row.near);
        for (; k < all; ++k) {
            s1 += static_cast<double>(x[k]) * w[far[k - count]];
        }
        return (s0 + s1) + (s2 + s3);
    }

    void axpy(std::size_t i, double a, double* w) const {
        const Row &row = rows_[i], &next = rows_[i + 1];
        const Value* x = values_.get() + row.start;
        const std::uint16_t* near = near_.get() + row.near;
        const std::size_t count = next.near - row.near, all = next.start - row.start;
        for (std::size_t k = 0; k < count; ++k) {
            w[near[k]] += a * static_cast<double>(x[k]);
        }
        const std::uint32_t* far = far_.get() + (row.start - row.near);
        for (std::size_t k = count; k < all; ++k) {
            w[far[k - count]] += a * static_cast<double>(x[k]);
        }
        if (folds_) {
            w[kept_ + i] += a * row.folded;
        }
    }

    // visit(column, value) for every entry.
    template <class Visit>
    void for_each(std::size_t i, Visit visit) const {
        const Row &row = rows_[i], &next = rows_[i + 1];
        const std::size_t count = next.near - row.near;
        for (std::size_t k = row.start; k < next.start; ++k) {
            const std::size_t n = k - row.start;
            visit(n < count ? std::size_t{near_[row.near + n]} : std::size_t{far_[row.start - row.near + n - count]},
                  static_cast<double>(values_[k]));
        }
        if (folds_) {
            visit(kept_ + i, row.folded);
        }
    }

    void prefetch_start(std::size_t i) const { __builtin_prefetch(&rows_[i]); }
    void prefetch(std::size_t i) const {
        const Row &row = rows_[i], &next = rows_[i + 1];
        prefetch_bytes(values_.get() + row.start, (next.start - row.start) * sizeof(Value));
        prefetch_bytes(near_.get() + row.near, (next.near - row.near) * sizeof(std::uint16_t));
        prefetch_bytes(far_.get() + (row.start - row.near),
                       (next.start - next.near - row.start + row.near) * sizeof(std::uint32_t));
    }

    // From weights of the copy's columns to weights of the user's, the bias last in both.
    void expand(const std::vector<double>& packed, std::vector<double>& full) const {
        full.resize(rank_.size() + 1);
        for (std::size_t j = 0; j < rank_.size(); ++j) {
            full[j] = rank_[j] == ColumnOrder::none ? 0.0 : packed[rank_[j]];
        }
        for (std::size_t i = 0; i < size_ && folds_; ++i) {
            if (const double weight = packed[kept_ + i]; weight != 0.0) {
                for (std::size_t k = rows_[i].alone; k < rows_[i + 1].alone; ++k) {
                    full[alone_[k].column] = weight / rows_[i].folded * alone_[k].value;
                }
            }
        }
        full.back() = packed.back();
    }

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

    // Of which kind an entry is cannot be foretold, so each is written as all three and stays as one. Returns the
    // length of what is folded.
    template <class Given, class Index>
    double add_row(const Given* x, const Index* columns, std::size_t count, Row& at, Value* later) {
        const std::uint32_t* rank = rank_.data();
        Value* values = values_.get() + at.start;
        std::uint16_t* near = near_.get() + at.near;
        std::uint32_t* far = far_.get() + (at.start - at.near);
        Alone* alone = alone_.get() + at.alone;
        std::size_t nears = 0, fars = 0, alones = 0;
        double squares = 0.0;
        bool exact = true;
        for (std::size_t k = 0; k < count; ++k) {
            __builtin_prefetch(rank + columns[std::min(k + ahead, count - 1)]);
            const auto j = static_cast<std::size_t>(columns[k]);
            const std::uint32_t own = rank[j];
            const auto value = static_cast<Value>(x[k]);
            const bool is_near = own < most_near, is_alone = own == ColumnOrder::none;
            const auto given = static_cast<double>(x[k]);
            exact &= static_cast<double>(value) == given;
            near[nears] = static_cast<std::uint16_t>(own);
            values[nears] = value;
            nears += is_near;
            far[fars] = own;
            later[fars] = value;
            fars += !is_near && !is_alone;
            alone[alones] = {given, j};
            alones += is_alone;
            squares += is_alone ? given * given : 0.0;
        }
        std::copy_n(later, fars, values + nears);
        at.start += nears + fars;
        at.near += nears;
        at.alone += alones;
        exact_ = exact_ && exact;
        return std::sqrt(squares);
    }

    static constexpr std::size_t ahead = 32;

    HugeArray<Row> rows_;  // one more than there are rows
    HugeArray<Value> values_;
    HugeArray<std::uint16_t> near_;
    HugeArray<std::uint32_t> far_;
    HugeArray<Alone> alone_;
    std::vector<std::uint32_t> rank_;
    std::size_t size_, kept_;
    bool folds_;
    bool exact_ = true;
};

using Packed = std::variant<PackedRows<float>, PackedRows<double>>;

// A packed copy of sparse rows. `exact` asks for values without rounding.
template <class Value, class Index>
Packed pack(const CsrRows<Value, Index>& rows, bool exact);

}  // namespace maxmargin
