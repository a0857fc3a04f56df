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
//
// For sweeps of several threads (team_sweep.hpp) its columns may be dealt out to parts. The entries of each part are
// then in arrays of their own, so that no cache line is used by two threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "numeric/compiler.hpp"
#include "numeric/huge_array.hpp"
#include "rows/column_parts.hpp"
#include "rows/rows.hpp"

namespace maxmargin {

// Tolerances below this ask for values without rounding.
inline constexpr double exact_below = 1e-6;

inline constexpr std::uint32_t no_column = 0xffffffff;  // the rank of a column without a weight of its own
struct ColumnOrder;

class PackedRows {
  public:
    // `exact` asks for values without rounding; otherwise they are floats. The threads of a team, if there is one, make
    // it together; it does not depend on how many they are.
    PackedRows(const CsrRows& rows, bool exact, const ColumnParts& parts = {}, Team* team = nullptr);

    const ColumnParts& parts() const { return dealt_; }

    // Whether no value was rounded.
    bool is_exact() const { return exact_; }

    std::size_t size() const { return size_; }
    // Where columns are folded, each row has one of its own after all others.
    std::size_t features() const { return kept_ + (folds_ ? size_ : 0); }
    std::size_t stored() const { return stored_; }
    std::size_t stored(std::size_t i) const {
        std::size_t count = folds_ ? 1 : 0;
        for (const Part& part : parts_) {
            count += part.rows[i + 1].start - part.rows[i].start;
        }
        return count;
    }

    // body(view), with the type of the values.
    template <class Body>
    decltype(auto) with_view(const Body& body) const {
        return floats_ ? body(View<float>(*this)) : body(View<double>(*this));
    }

    double dot(std::size_t i, const double* w) const;
    void axpy(std::size_t i, double a, double* w) const;

    // visit(column, value) for every entry.
    template <class Visit>
    void for_each(std::size_t i, Visit visit) const {
        with_view([&](const auto& view) { view.for_each_part([&](const auto& part) { part.for_each(i, visit); }); });
        if (folds_) {
            visit(kept_ + i, folded(i));
        }
    }

    void prefetch_start(std::size_t i) const {
        for (const Part& part : parts_) {
            MAXMARGIN_PREFETCH(&part.rows[i]);
        }
    }
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
            for (std::size_t k = alone_starts_[i]; k < alone_starts_[i + 1]; ++k) {
                if (alone_[k].value != 0.0) {
                    visit(alone_[k].column, kept_ + i, alone_[k].value / folded(i));
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
        double folded;      // value of the row's own column, which is in the first part
    };
    struct Alone {
        double value;
        std::size_t column;
    };
    struct Part {
        HugeArray<Row> rows;  // one more than there are rows
        HugeArray<float> floats;
        HugeArray<double> doubles;  // one of the two is empty
        HugeArray<std::uint16_t> near;
        HugeArray<std::uint32_t> far;

        template <class Value>
        HugeArray<Value>& values() {
            if constexpr (std::is_same_v<Value, float>) {
                return floats;
            } else {
                return doubles;
            }
        }
        template <class Value>
        const Value* values() const {
            if constexpr (std::is_same_v<Value, float>) {
                return floats.get();
            } else {
                return doubles.get();
            }
        }
    };

    template <class Value>
    struct Target;

    double folded(std::size_t i) const { return parts_[0].rows[i].folded; }
    template <class Value>
    void fill(const CsrRows& rows, const ColumnOrder& columns, Team* team);
    template <class Value, class Given>
    bool add_row(const ColumnOrder& order, const Given* x, ColumnIndices columns, std::size_t count, std::size_t i,
                 bool has_next, std::vector<Target<Value>>& targets);

    // The entries of one part.
    template <class Value>
    struct PartView {
        const Row* rows;
        const Value* values;
        const std::uint16_t* near;
        const std::uint32_t* far;
        const std::size_t kept;
        const bool folds;

        PartView(const PackedRows& all, std::size_t part)
            : rows(all.parts_[part].rows.get()),
              values(all.parts_[part].template values<Value>()),
              near(all.parts_[part].near.get()),
              far(all.parts_[part].far.get()),
              kept(all.kept_),
              folds(all.folds_ && part == 0) {}

        double dot(std::size_t i, const double* w) const {
            const Row &row = rows[i], &next = rows[i + 1];
            const Value* x = values + row.start;
            const std::uint16_t* j = near + row.near;
            const std::size_t count = next.near - row.near, all = next.start - row.start;
            double s0 = folds ? row.folded * w[kept + i] : 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0;
            std::size_t k = 0;
            for (; k + 4 <= count; k += 4) {
                s0 += static_cast<double>(x[k]) * w[j[k]];
                s1 += static_cast<double>(x[k + 1]) * w[j[k + 1]];
                s2 += static_cast<double>(x[k + 2]) * w[j[k + 2]];
                s3 += static_cast<double>(x[k + 3]) * w[j[k + 3]];
            }
            for (; k < count; ++k) {
                s0 += static_cast<double>(x[k]) * w[j[k]];
            }
            const std::uint32_t* wide = far + (row.start - row.near);
            for (; k < all; ++k) {
                s1 += static_cast<double>(x[k]) * w[wide[k - count]];
            }
            return (s0 + s1) + (s2 + s3);
        }

        void axpy(std::size_t i, double a, double* w) const {
            const Row &row = rows[i], &next = rows[i + 1];
            const Value* x = values + row.start;
            const std::uint16_t* j = near + row.near;
            const std::size_t count = next.near - row.near, all = next.start - row.start;
            for (std::size_t k = 0; k < count; ++k) {
                w[j[k]] += a * static_cast<double>(x[k]);
            }
            const std::uint32_t* wide = far + (row.start - row.near);
            for (std::size_t k = count; k < all; ++k) {
                w[wide[k - count]] += a * static_cast<double>(x[k]);
            }
            if (folds) {
                w[kept + i] += a * row.folded;
            }
        }

        // visit(column, value), without the row's own column.
        template <class Visit>
        void for_each(std::size_t i, const Visit& visit) const {
            const Row &row = rows[i], &next = rows[i + 1];
            const std::size_t count = next.near - row.near, all = next.start - row.start;
            for (std::size_t k = 0; k < all; ++k) {
                visit(k < count ? std::size_t{near[row.near + k]} : std::size_t{far[row.start - row.near + k - count]},
                      static_cast<double>(values[row.start + k]));
            }
        }

        void prefetch_start(std::size_t i) const { MAXMARGIN_PREFETCH(rows + i); }
        void prefetch(std::size_t i) const {
            const Row &row = rows[i], &next = rows[i + 1];
            prefetch_bytes(values + row.start, (next.start - row.start) * sizeof(Value));
            prefetch_bytes(near + row.near, (next.near - row.near) * sizeof(std::uint16_t));
            prefetch_bytes(far + (row.start - row.near),
                           (next.start - next.near - row.start + row.near) * sizeof(std::uint32_t));
        }
    };

    template <class Value>
    struct View {
        const PackedRows& rows;
        const PartView<Value> first;
        const std::size_t parts;

        explicit View(const PackedRows& all) : rows(all), first(all, 0), parts(all.parts_.size()) {}

        std::size_t size() const { return rows.size(); }
        std::size_t features() const { return rows.features(); }
        std::size_t stored(std::size_t i) const {
            return parts == 1 ? first.rows[i + 1].start - first.rows[i].start + (first.folds ? 1 : 0) : rows.stored(i);
        }

        PartView<Value> part(std::size_t p) const { return {rows, p}; }
        template <class Visit>
        void for_each_part(const Visit& visit) const {
            visit(first);
            for (std::size_t p = 1; p < parts; ++p) {
                visit(part(p));
            }
        }

        double dot(std::size_t i, const double* w) const {
            double sum = first.dot(i, w);
            for (std::size_t p = 1; p < parts; ++p) {
                sum += part(p).dot(i, w);
            }
            return sum;
        }
        void axpy(std::size_t i, double a, double* w) const {
            for_each_part([&](const auto& own) { own.axpy(i, a, w); });
        }

        // Of rows in one part.
        RowEntries<Value> entries(std::size_t i, RowBuffer&) const {
            const Row &row = first.rows[i], &next = first.rows[i + 1];
            return {first.values + row.start,
                    first.near + row.near,
                    first.far + (row.start - row.near),
                    next.near - row.near,
                    next.start - row.start,
                    first.folds ? row.folded : 0.0,
                    first.kept + i};
        }

        void prefetch_start(std::size_t i) const {
            for_each_part([i](const auto& own) { own.prefetch_start(i); });
        }
        void prefetch(std::size_t i) const {
            for_each_part([i](const auto& own) { own.prefetch(i); });
        }
    };

    ColumnParts dealt_;
    std::vector<Part> parts_;
    HugeArray<Alone> alone_;
    HugeArray<std::size_t> alone_starts_;  // of each row, and their end
    std::vector<std::uint32_t> rank_;      // of each of the user's columns, or no_column
    std::size_t size_, kept_ = 0, stored_ = 0;
    bool folds_ = false, floats_ = true;
    bool exact_ = true;
};

}  // namespace maxmargin
