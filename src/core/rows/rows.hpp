// Rows of the user's matrix, read where they lie: CSR or C-ordered dense, any value and index type.
// Kernels of two classes see what `RowSource` asks for (row_source.hpp); those of several classes, of Hessians and of
// predictions ask for a few members more. The bias (eq. 3) is an implicit last
// column of value `bias`: w has features() + 1 entries, and with bias 0 the last one stays 0.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "numeric/cholesky.hpp"
#include "numeric/column_indices.hpp"
#include "numeric/compiler.hpp"
#include "numeric/row_entries.hpp"
#include "numeric/simd.hpp"
#include "rows/row_source.hpp"
#include "run/team.hpp"

namespace maxmargin {

inline constexpr std::size_t cache_line = 64;

// Rows longer than this are only prefetched at their start; the hardware streams the rest.
inline constexpr std::size_t prefetched_bytes = 256;

inline void prefetch_bytes(const void* begin, std::size_t bytes) {
    const char* p = static_cast<const char*>(begin);
    const char* end = p + std::min(bytes, prefetched_bytes);
    for (; p < end; p += cache_line) {
        MAXMARGIN_PREFETCH(p);
    }
}

// Row pointers of either width. They are read once per row, so the type is decided at run time: half as many kernels to
// compile.
class RowStarts {
  public:
    explicit RowStarts(const std::int32_t* starts) : narrow_(starts) {}
    explicit RowStarts(const std::int64_t* starts) : wide_(starts) {}

    std::size_t operator[](std::size_t i) const {
        return narrow_ ? static_cast<std::size_t>(narrow_[i]) : static_cast<std::size_t>(wide_[i]);
    }
    // body(starts), with their type.
    template <class Body>
    void with_type(const Body& body) const {
        if (narrow_) {
            body(narrow_);
        } else {
            body(wide_);
        }
    }
    void prefetch(std::size_t i) const {
        MAXMARGIN_PREFETCH(narrow_ ? static_cast<const void*>(narrow_ + i) : static_cast<const void*>(wide_ + i));
    }

  private:
    const std::int32_t* narrow_ = nullptr;
    const std::int64_t* wide_ = nullptr;
};

// The weight of each column is in its own place: see RowSource.
template <class Visit>
void visit_own_places(std::size_t features, Visit visit) {
    for (std::size_t j = 0; j < features; ++j) {
        visit(j, j, 1.0);
    }
}

// Products with rows of wide indices, which are rare: not worth a loop wherever there is one for the narrow ones.
template <class Value>
double wide_dot(const Value* values, ColumnIndices columns, std::size_t count, const double* w);
template <class Value>
void wide_axpy(double a, const Value* values, ColumnIndices columns, std::size_t count, double* w);

// Sparse rows with the type of their values, for loops that visit many rows.
template <class Value>
struct CsrView {
    const Value* values;
    ColumnIndices indices;
    RowStarts starts;
    std::size_t rows, columns;

    std::size_t size() const { return rows; }
    std::size_t features() const { return columns; }
    std::size_t stored(std::size_t i) const { return starts[i + 1] - starts[i]; }

    double dot(std::size_t i, const double* w) const {
        const std::size_t last = starts[i + 1];
        std::size_t k = starts[i];
        const auto* const j = indices.narrow();
        if (!j) [[unlikely]] {
            return wide_dot(values + k, indices + k, last - k, w);
        }
        double s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0;
        for (; k + 4 <= last; k += 4) {
            s0 += static_cast<double>(values[k]) * w[j[k]];
            s1 += static_cast<double>(values[k + 1]) * w[j[k + 1]];
            s2 += static_cast<double>(values[k + 2]) * w[j[k + 2]];
            s3 += static_cast<double>(values[k + 3]) * w[j[k + 3]];
        }
        for (; k < last; ++k) {
            s0 += static_cast<double>(values[k]) * w[j[k]];
        }
        return (s0 + s1) + (s2 + s3);
    }

    void axpy(std::size_t i, double a, double* w) const {
        const std::size_t last = starts[i + 1];
        std::size_t k = starts[i];
        const auto* const j = indices.narrow();
        if (!j) [[unlikely]] {
            wide_axpy(a, values + k, indices + k, last - k, w);
            return;
        }
        for (; k < last; ++k) {
            w[j[k]] += a * static_cast<double>(values[k]);
        }
    }

    // Of every `stride`-th of the rows from `first` on, whose indices must increase.
    void squared_norms(std::size_t first, std::size_t stride, std::size_t count, double* squares) const {
        starts.with_type(
            [&](const auto* begin) { sparse_squared_norms(values, begin + first, stride, count, squares); });
    }

    RowEntries<Value> entries(std::size_t i, RowBuffer& buffer) const {
        const std::size_t first = starts[i], own = starts[i + 1] - first;
        if (const auto* const j = indices.narrow()) {
            return {values + first, nullptr, j + first, 0, own, 0.0, 0};
        }
        buffer.make_room(own);
        for (std::size_t k = 0; k < own; ++k) {
            buffer.columns[k] = static_cast<std::uint32_t>(indices[first + k]);
        }
        return {values + first, nullptr, buffer.columns.data(), 0, own, 0.0, 0};
    }

    void prefetch_start(std::size_t i) const { starts.prefetch(i); }
    void prefetch(std::size_t i) const {
        const std::size_t first = starts[i], count = starts[i + 1] - first;
        prefetch_bytes((indices + first).data(), indices.bytes(count));
        prefetch_bytes(values + first, count * sizeof(Value));
    }
};

// Dense rows: their kernels are functions of their own, beside which a look at the type of the values costs nothing.
struct DenseView {
    const void* values;
    bool wide;  // double, not float
    std::size_t rows, columns;

    // body(values) of one row, with their type.
    template <class Body>
    decltype(auto) with_row(std::size_t i, const Body& body) const {
        return wide ? body(static_cast<const double*>(values) + i * columns)
                    : body(static_cast<const float*>(values) + i * columns);
    }

    std::size_t size() const { return rows; }
    std::size_t features() const { return columns; }
    std::size_t stored(std::size_t) const { return columns; }
    double dot(std::size_t i, const double* w) const {
        return with_row(i, [&](auto* x) { return dense_dot(x, w, columns); });
    }
    void axpy(std::size_t i, double a, double* w) const {
        with_row(i, [&](auto* x) { dense_axpy(a, x, w, columns); });
    }
    double squared_norm(std::size_t i) const {
        return with_row(i, [&](auto* x) { return dense_squared_norm(x, columns); });
    }
    void squared_norms(std::size_t first, std::size_t stride, std::size_t count, double* squares) const {
        for (std::size_t r = 0; r < count; ++r) {
            squares[r] = squared_norm(first + r * stride);
        }
    }
    RowEntries<double> entries(std::size_t i, RowBuffer& buffer) const;
    void prefetch_start(std::size_t) const {}
    void prefetch(std::size_t i) const {
        const std::size_t bytes = columns * (wide ? sizeof(double) : sizeof(float));
        prefetch_bytes(static_cast<const char*>(values) + i * bytes, bytes);
    }
};

// Sparse rows. Which type their values have is asked once per row and operation, which makes one kernel of two. A loop
// that visits many short rows asks once in all, by `with_view`.
class CsrRows {
  public:
    template <class Value>
    CsrRows(const Value* values, ColumnIndices indices, RowStarts starts, std::size_t rows, std::size_t features)
        : values_(values),
          indices_(indices),
          starts_(starts),
          rows_(rows),
          features_(features),
          wide_values_(std::is_same_v<Value, double>) {}

    std::size_t size() const { return rows_; }
    std::size_t features() const { return features_; }
    std::size_t stored() const { return starts_[rows_]; }
    std::size_t stored(std::size_t i) const { return starts_[i + 1] - starts_[i]; }
    std::size_t start(std::size_t i) const { return starts_[i]; }  // of a row, in the arrays
    ColumnIndices indices() const { return indices_; }

    // body(view), with the type of the values.
    template <class Body>
    decltype(auto) with_view(const Body& body) const {
        if (wide_values_) {
            return body(CsrView<double>{static_cast<const double*>(values_), indices_, starts_, rows_, features_});
        }
        return body(CsrView<float>{static_cast<const float*>(values_), indices_, starts_, rows_, features_});
    }

    // body(values, indices, count) of one row, with the type of the values.
    template <class Body>
    decltype(auto) with_row(std::size_t i, const Body& body) const {
        return with_view([&](const auto& view) -> decltype(auto) {
            const std::size_t first = starts_[i];
            return body(view.values + first, indices_ + first, starts_[i + 1] - first);
        });
    }

    double dot(std::size_t i, const double* w) const;
    void axpy(std::size_t i, double a, double* w) const;

    // Many classes at once, see class_kernels.hpp.
    void class_scores(std::size_t i, const double* weights, std::size_t width, double* scores) const;
    void some_class_scores(std::size_t i, const double* weights, std::size_t width,
                           std::span<const std::uint32_t> classes, double* scores) const;
    void add_to_classes(std::size_t i, std::span<const std::uint32_t> classes, const double* changes, double* weights,
                        std::size_t width) const;

    // Scores of `count` rows from row `first` on, see score_kernels.hpp.
    void scores(std::size_t first, std::size_t count, const double* weights, const double* intercepts,
                std::size_t classes, double* scores) const;

    // A += the sum of scales[k] * x_i x_i' over the rows i = rows[k]; of its lower triangle the rows `first` to `last`.
    void add_outers(std::span<const RowIndex> rows, const double* scales, SymmetricMatrix& A, std::size_t first,
                    std::size_t last) const;

    // visit(column, value) for every entry; a repeated index is visited again.
    template <class Visit>
    void for_each(std::size_t i, Visit visit) const {
        with_row(i, [&](auto* values, ColumnIndices indices, std::size_t count) {
            for (std::size_t k = 0; k < count; ++k) {
                visit(indices[k], static_cast<double>(values[k]));
            }
        });
    }

    // w += scale * (x_i squared entry by entry). Repeated indices count one by one: good enough for a preconditioner.
    void add_squares(std::size_t i, double scale, double* w) const;

    // Rows may be unsorted and may repeat an index (the entries then add up, as in scipy): a plain sum of squares is
    // right only where indices increase.
    std::vector<double> squared_norms(Team* team = nullptr) const;
    bool every_row_increases(Team* team = nullptr) const;

    bool equal(std::size_t i, std::size_t j) const;

    template <class Visit>
    void for_each_place(Visit visit) const {
        visit_own_places(features_, visit);
    }

    void prefetch_start(std::size_t i) const { starts_.prefetch(i); }
    void prefetch(std::size_t i) const {
        with_view([i](const auto& view) { view.prefetch(i); });
    }

  private:
    const void* values_;
    ColumnIndices indices_;
    RowStarts starts_;
    std::size_t rows_;
    std::size_t features_;
    bool wide_values_;
};

class DenseRows {
  public:
    template <class Value>
    DenseRows(const Value* values, std::size_t rows, std::size_t features)
        : view_{values, std::is_same_v<Value, double>, rows, features} {}

    std::size_t size() const { return view_.rows; }
    std::size_t features() const { return view_.columns; }
    std::size_t stored() const { return size() * features(); }
    std::size_t stored(std::size_t) const { return features(); }

    template <class Body>
    decltype(auto) with_view(const Body& body) const {
        return body(view_);
    }
    // body(values) of one row, with their type.
    template <class Body>
    decltype(auto) with_row(std::size_t i, const Body& body) const {
        return view_.with_row(i, body);
    }

    double dot(std::size_t i, const double* w) const { return view_.dot(i, w); }
    void axpy(std::size_t i, double a, double* w) const { view_.axpy(i, a, w); }
    void class_scores(std::size_t i, const double* weights, std::size_t width, double* scores) const;
    void some_class_scores(std::size_t i, const double* weights, std::size_t width,
                           std::span<const std::uint32_t> classes, double* scores) const;
    void add_to_classes(std::size_t i, std::span<const std::uint32_t> classes, const double* changes, double* weights,
                        std::size_t width) const;
    void scores(std::size_t first, std::size_t count, const double* weights, const double* intercepts,
                std::size_t classes, double* scores) const;
    template <class Visit>
    void for_each(std::size_t i, Visit visit) const {
        with_row(i, [&](auto* x) {
            for (std::size_t k = 0; k < features(); ++k) {
                if (x[k] != 0) {
                    visit(k, static_cast<double>(x[k]));
                }
            }
        });
    }
    void add_outers(std::span<const RowIndex> rows, const double* scales, SymmetricMatrix& A, std::size_t first,
                    std::size_t last) const;
    void add_squares(std::size_t i, double scale, double* w) const;
    std::vector<double> squared_norms(Team* team = nullptr) const;
    bool equal(std::size_t i, std::size_t j) const;

    template <class Visit>
    void for_each_place(Visit visit) const {
        visit_own_places(features(), visit);
    }

    void prefetch_start(std::size_t) const {}
    void prefetch(std::size_t i) const { view_.prefetch(i); }

  private:
    DenseView view_;
};

}  // namespace maxmargin
