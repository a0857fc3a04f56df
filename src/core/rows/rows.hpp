// Rows of the user's matrix, read where they lie: CSR or C-ordered dense, any value and index type.
// Kernels of two classes see what `RowSource` asks for (row_source.hpp); those of several classes, of Hessians and of
// predictions ask for a few members more. The bias (eq. 3) is an implicit last
// column of value `bias`: w has features() + 1 entries, and with bias 0 the last one stays 0.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "numeric/cholesky.hpp"
#include "numeric/class_kernels.hpp"
#include "numeric/score_kernels.hpp"
#include "numeric/simd.hpp"

namespace maxmargin {

inline constexpr std::size_t cache_line = 64;

// Rows longer than this are only prefetched at their start; the hardware streams the rest.
inline constexpr std::size_t prefetched_bytes = 256;

inline void prefetch_bytes(const void* begin, std::size_t bytes) {
    const char* p = static_cast<const char*>(begin);
    const char* end = p + std::min(bytes, prefetched_bytes);
    for (; p < end; p += cache_line) {
        __builtin_prefetch(p);
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
    void prefetch(std::size_t i) const {
        __builtin_prefetch(narrow_ ? static_cast<const void*>(narrow_ + i) : static_cast<const void*>(wide_ + i));
    }

  private:
    const std::int32_t* narrow_ = nullptr;
    const std::int64_t* wide_ = nullptr;
};

template <class Value, class Index>
class CsrRows {
  public:
    using value_type = Value;

    CsrRows(const Value* values, const Index* indices, RowStarts starts, std::size_t rows, std::size_t features)
        : values_(values), indices_(indices), starts_(starts), rows_(rows), features_(features) {}

    std::size_t size() const { return rows_; }
    std::size_t features() const { return features_; }
    std::size_t stored() const { return starts_[rows_]; }
    std::size_t stored(std::size_t i) const { return end(i) - begin(i); }

    double dot(std::size_t i, const double* w) const {
        const std::size_t last = end(i);
        std::size_t k = begin(i);
        double s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0;
        for (; k + 4 <= last; k += 4) {
            s0 += static_cast<double>(values_[k]) * w[indices_[k]];
            s1 += static_cast<double>(values_[k + 1]) * w[indices_[k + 1]];
            s2 += static_cast<double>(values_[k + 2]) * w[indices_[k + 2]];
            s3 += static_cast<double>(values_[k + 3]) * w[indices_[k + 3]];
        }
        for (; k < last; ++k) {
            s0 += static_cast<double>(values_[k]) * w[indices_[k]];
        }
        return (s0 + s1) + (s2 + s3);
    }

    void axpy(std::size_t i, double a, double* w) const {
        const std::size_t last = end(i);
        for (std::size_t k = begin(i); k < last; ++k) {
            w[indices_[k]] += a * static_cast<double>(values_[k]);
        }
    }

    // Many classes at once, see class_kernels.hpp.
    void class_scores(std::size_t i, const double* weights, std::size_t width, double* scores) const {
        maxmargin::class_scores(values_ + begin(i), indices_ + begin(i), stored(i), weights, width, scores);
    }
    void some_class_scores(std::size_t i, const double* weights, std::size_t width,
                           std::span<const std::uint32_t> classes, double* scores) const {
        maxmargin::some_class_scores(values_ + begin(i), indices_ + begin(i), stored(i), weights, width, classes.data(),
                                     classes.size(), scores);
    }
    void add_to_classes(std::size_t i, std::span<const std::uint32_t> classes, const double* changes, double* weights,
                        std::size_t width) const {
        maxmargin::add_to_classes(values_ + begin(i), indices_ + begin(i), stored(i), classes.data(), changes,
                                  classes.size(), weights, width);
    }

    // Scores of `count` rows from row `first` on, see score_kernels.hpp.
    void scores(std::size_t first, std::size_t count, const double* weights, const double* intercepts,
                std::size_t classes, double* scores) const {
        for (std::size_t i = first; i < first + count; ++i, scores += classes) {
            sparse_scores(values_ + begin(i), indices_ + begin(i), stored(i), weights, intercepts, classes, scores);
        }
    }

    // A += scale * x_i x_i', lower triangle.
    void add_outer(std::size_t i, double scale, SymmetricMatrix& A) const {
        const std::size_t first = begin(i), last = end(i);
        for (std::size_t k = first; k < last; ++k) {
            const double v = scale * static_cast<double>(values_[k]);
            const auto column = static_cast<std::size_t>(indices_[k]);
            double* own = A.row(column);
            own[column] += v * static_cast<double>(values_[k]);
            for (std::size_t j = first; j < k; ++j) {
                const auto other = static_cast<std::size_t>(indices_[j]);
                const double product = v * static_cast<double>(values_[j]);
                if (other < column) [[likely]] {  // always, where indices increase
                    own[other] += product;
                } else {
                    // A repeated index meets itself on the diagonal, where both halves of the pair land.
                    A.row(other)[column] += other == column ? 2.0 * product : product;
                }
            }
        }
    }

    // visit(column, value) for every entry; a repeated index is visited again.
    template <class Visit>
    void for_each(std::size_t i, Visit visit) const {
        for (std::size_t k = begin(i); k < end(i); ++k) {
            visit(static_cast<std::size_t>(indices_[k]), values_[k]);
        }
    }

    // w += scale * (x_i squared entry by entry). Repeated indices count one by one: good enough for a preconditioner.
    void add_squares(std::size_t i, double scale, double* w) const {
        for (std::size_t k = begin(i); k < end(i); ++k) {
            w[indices_[k]] += scale * static_cast<double>(values_[k]) * static_cast<double>(values_[k]);
        }
    }

    const Value* values(std::size_t i) const { return values_ + begin(i); }
    const Index* indices(std::size_t i) const { return indices_ + begin(i); }

    // Rows may be unsorted and may repeat an index (the entries then add up, as in scipy): a plain sum of squares is
    // right only where indices increase.
    std::vector<double> squared_norms() const {
        std::vector<double> norms(rows_);
        if (every_row_increases()) {
            for (std::size_t i = 0; i < rows_; ++i) {
                norms[i] = dense_squared_norm(values_ + begin(i), stored(i));
            }
            return norms;
        }
        std::vector<double> x(features_, 0.0);
        for (std::size_t i = 0; i < rows_; ++i) {
            axpy(i, 1.0, x.data());
            norms[i] = dot(i, x.data());
            for (std::size_t k = begin(i); k < end(i); ++k) {
                x[static_cast<std::size_t>(indices_[k])] = 0.0;
            }
        }
        return norms;
    }

    bool equal(std::size_t i, std::size_t j) const {
        return stored(i) == stored(j) && std::equal(indices_ + begin(i), indices_ + end(i), indices_ + begin(j)) &&
               std::equal(values_ + begin(i), values_ + end(i), values_ + begin(j));
    }

    void prefetch_start(std::size_t i) const { starts_.prefetch(i); }
    void prefetch(std::size_t i) const {
        const std::size_t first = begin(i), count = end(i) - first;
        prefetch_bytes(indices_ + first, count * sizeof(Index));
        prefetch_bytes(values_ + first, count * sizeof(Value));
    }

  private:
    // One pass over all indices as if they were one row, and one over the places where rows meet.
    bool every_row_increases() const {
        std::size_t falls = count_falls(indices_, stored());
        for (std::size_t i = 0; i < rows_; ++i) {
            const std::size_t k = begin(i);
            falls -= k > 0 && k < end(i) && indices_[k - 1] >= indices_[k] ? 1 : 0;
        }
        return falls == 0;
    }

    std::size_t begin(std::size_t i) const { return starts_[i]; }
    std::size_t end(std::size_t i) const { return starts_[i + 1]; }

    const Value* values_;
    const Index* indices_;
    RowStarts starts_;
    std::size_t rows_;
    std::size_t features_;
};

template <class Value>
class DenseRows {
  public:
    using value_type = Value;

    DenseRows(const Value* values, std::size_t rows, std::size_t features)
        : values_(values), rows_(rows), features_(features) {}

    std::size_t size() const { return rows_; }
    std::size_t features() const { return features_; }
    std::size_t stored() const { return rows_ * features_; }
    std::size_t stored(std::size_t) const { return features_; }

    double dot(std::size_t i, const double* w) const { return dense_dot(row(i), w, features_); }
    void axpy(std::size_t i, double a, double* w) const { dense_axpy(a, row(i), w, features_); }
    void class_scores(std::size_t i, const double* weights, std::size_t width, double* scores) const {
        maxmargin::class_scores(row(i), features_, weights, width, scores);
    }
    void some_class_scores(std::size_t i, const double* weights, std::size_t width,
                           std::span<const std::uint32_t> classes, double* scores) const {
        maxmargin::some_class_scores(row(i), features_, weights, width, classes.data(), classes.size(), scores);
    }
    void add_to_classes(std::size_t i, std::span<const std::uint32_t> classes, const double* changes, double* weights,
                        std::size_t width) const {
        maxmargin::add_to_classes(row(i), features_, classes.data(), changes, classes.size(), weights, width);
    }
    void scores(std::size_t first, std::size_t count, const double* weights, const double* intercepts,
                std::size_t classes, double* scores) const {
        dense_scores(row(first), count, features_, weights, intercepts, classes, scores);
    }
    void add_outer(std::size_t i, double scale, SymmetricMatrix& A) const {
        const Value* x = row(i);
        for (std::size_t k = 0; k < features_; ++k) {
            dense_axpy(scale * static_cast<double>(x[k]), x, A.row(k), k + 1);
        }
    }
    template <class Visit>
    void for_each(std::size_t i, Visit visit) const {
        for (std::size_t k = 0; k < features_; ++k) {
            if (row(i)[k] != Value{0}) {
                visit(k, row(i)[k]);
            }
        }
    }
    void add_squares(std::size_t i, double scale, double* w) const {
        const Value* x = row(i);
        for (std::size_t k = 0; k < features_; ++k) {
            w[k] += scale * static_cast<double>(x[k]) * static_cast<double>(x[k]);
        }
    }
    std::vector<double> squared_norms() const {
        std::vector<double> norms(rows_);
        for (std::size_t i = 0; i < rows_; ++i) {
            norms[i] = dense_squared_norm(row(i), features_);
        }
        return norms;
    }

    bool equal(std::size_t i, std::size_t j) const { return std::equal(row(i), row(i) + features_, row(j)); }

    void prefetch_start(std::size_t) const {}
    void prefetch(std::size_t i) const { prefetch_bytes(row(i), features_ * sizeof(Value)); }

  private:
    const Value* row(std::size_t i) const { return values_ + i * features_; }

    const Value* values_;
    std::size_t rows_;
    std::size_t features_;
};

}  // namespace maxmargin
