#include "rows/rows.hpp"
#include "run/chunks.hpp"

#include "numeric/class_kernels.hpp"
#include "numeric/score_kernels.hpp"

namespace maxmargin {
namespace {

// The share of stored values from which an outer product over all columns is cheaper than one over indices.
constexpr double nearly_dense = 0.4;

// A += scales[0] x[0] x[0]' + ... for up to four dense rows, in the rows `first` to `last` of its lower triangle.
template <class Value>
void add_dense_outers(const double* scales, const Value* const* x, std::size_t count, SymmetricMatrix& A,
                      std::size_t first, std::size_t last) {
    if (count < 4) {
        for (std::size_t r = 0; r < count; ++r) {
            for (std::size_t k = first; k < last; ++k) {
                dense_axpy(scales[r] * static_cast<double>(x[r][k]), x[r], A.row(k), k + 1);
            }
        }
        return;
    }
    for (std::size_t k = first; k < last; ++k) {
        double a[4];
        for (std::size_t r = 0; r < 4; ++r) {
            a[r] = scales[r] * static_cast<double>(x[r][k]);
        }
        if (a[0] != 0.0 || a[1] != 0.0 || a[2] != 0.0 || a[3] != 0.0) {
            dense_axpy_four(a, x, A.row(k), k + 1);
        }
    }
}

}  // namespace

template <class Value>
double wide_dot(const Value* values, ColumnIndices columns, std::size_t count, const double* w) {
    double sums[4] = {};
    std::size_t k = 0;
    for (; k + 4 <= count; k += 4) {
        for (std::size_t r = 0; r < 4; ++r) {
            sums[r] += static_cast<double>(values[k + r]) * w[columns[k + r]];
        }
    }
    for (; k < count; ++k) {
        sums[0] += static_cast<double>(values[k]) * w[columns[k]];
    }
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

template <class Value>
void wide_axpy(double a, const Value* values, ColumnIndices columns, std::size_t count, double* w) {
    for (std::size_t k = 0; k < count; ++k) {
        w[columns[k]] += a * static_cast<double>(values[k]);
    }
}

template double wide_dot(const float*, ColumnIndices, std::size_t, const double*);
template double wide_dot(const double*, ColumnIndices, std::size_t, const double*);
template void wide_axpy(double, const float*, ColumnIndices, std::size_t, double*);
template void wide_axpy(double, const double*, ColumnIndices, std::size_t, double*);

RowEntries<double> DenseView::entries(std::size_t i, RowBuffer& buffer) const {
    buffer.make_room(columns);
    return with_row(i, [&](auto* x) -> RowEntries<double> {
        std::size_t found = 0;
        for (std::size_t k = 0; k < columns; ++k) {
            buffer.values[found] = static_cast<double>(x[k]);
            buffer.columns[found] = static_cast<std::uint32_t>(k);
            found += x[k] != 0 ? 1 : 0;
        }
        return {buffer.values.data(), nullptr, buffer.columns.data(), 0, found, 0.0, 0};
    });
}

double CsrRows::dot(std::size_t i, const double* w) const {
    return with_view([&](const auto& view) { return view.dot(i, w); });
}

void CsrRows::axpy(std::size_t i, double a, double* w) const {
    with_view([&](const auto& view) { view.axpy(i, a, w); });
}

void CsrRows::class_scores(std::size_t i, const double* weights, std::size_t width, double* scores) const {
    with_row(i, [&](auto* x, ColumnIndices j, std::size_t count) {
        maxmargin::class_scores(x, j, count, weights, width, scores);
    });
}

void CsrRows::some_class_scores(std::size_t i, const double* weights, std::size_t width,
                                std::span<const std::uint32_t> classes, double* scores) const {
    with_row(i, [&](auto* x, ColumnIndices j, std::size_t count) {
        maxmargin::some_class_scores(x, j, count, weights, width, classes.data(), classes.size(), scores);
    });
}

void CsrRows::add_to_classes(std::size_t i, std::span<const std::uint32_t> classes, const double* changes,
                             double* weights, std::size_t width) const {
    with_row(i, [&](auto* x, ColumnIndices j, std::size_t count) {
        maxmargin::add_to_classes(x, j, count, classes.data(), changes, classes.size(), weights, width);
    });
}

void CsrRows::scores(std::size_t first, std::size_t count, const double* weights, const double* intercepts,
                     std::size_t classes, double* scores) const {
    for (std::size_t i = first; i < first + count; ++i, scores += classes) {
        with_row(i, [&](auto* x, ColumnIndices j, std::size_t n) {
            sparse_scores(x, j, n, weights, intercepts, classes, scores);
        });
    }
}

void CsrRows::add_outers(std::span<const RowIndex> rows, const double* scales, SymmetricMatrix& A, std::size_t first,
                         std::size_t last) const {
    const double places = static_cast<double>(size()) * static_cast<double>(features());
    if (static_cast<double>(stored()) >= nearly_dense * places) {
        std::vector<double> filled(4 * features());
        const double* x[4];
        for (std::size_t n = 0; n < rows.size(); n += 4) {
            const std::size_t count = std::min<std::size_t>(4, rows.size() - n);
            std::fill(filled.begin(), filled.end(), 0.0);
            for (std::size_t r = 0; r < count; ++r) {
                double* row = filled.data() + r * features();
                for_each(rows[n + r], [row](std::size_t j, double value) { row[j] += value; });
                x[r] = row;
            }
            add_dense_outers(scales + n, x, count, A, first, std::min(last, features()));
        }
        return;
    }
    with_view([&](const auto& view) {
        for (std::size_t n = 0; n < rows.size(); ++n) {
            const std::size_t start = starts_[rows[n]], count = starts_[rows[n] + 1] - start;
            const auto* x = view.values + start;
            const ColumnIndices indices = view.indices + start;
            bool rises = true;
            for (std::size_t k = 1; k < count; ++k) {
                rises &= indices[k - 1] < indices[k];
            }
            for (std::size_t k = 0; k < count; ++k) {
                const double v = scales[n] * static_cast<double>(x[k]);
                const std::size_t column = indices[k];
                double* own = A.row(column);
                const bool is_own = column >= first && column < last;
                if (is_own) {
                    own[column] += v * static_cast<double>(x[k]);
                }
                if (rises) [[likely]] {
                    for (std::size_t j = 0; j < k && is_own; ++j) {
                        own[indices[j]] += v * static_cast<double>(x[j]);
                    }
                    continue;
                }
                for (std::size_t j = 0; j < k; ++j) {
                    const std::size_t other = indices[j];
                    const std::size_t larger = std::max(column, other);
                    if (larger >= first && larger < last) {
                        // A repeated index meets itself on the diagonal, where both halves of the pair land.
                        A.lower(column, other) += (other == column ? 2.0 : 1.0) * v * static_cast<double>(x[j]);
                    }
                }
            }
        }
    });
}

void CsrRows::add_squares(std::size_t i, double scale, double* w) const {
    for_each(i, [&](std::size_t j, double x) { w[j] += scale * x * x; });
}

std::vector<double> CsrRows::squared_norms(Team* team) const {
    std::vector<double> norms(rows_);
    if (every_row_increases(team)) {
        Chunks(rows_, stored()).for_each(team, [&](std::size_t, std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i) {
                norms[i] =
                    with_row(i, [](auto* x, ColumnIndices, std::size_t count) { return dense_squared_norm(x, count); });
            }
        });
        return norms;
    }
    std::vector<double> x(features_, 0.0);
    for (std::size_t i = 0; i < rows_; ++i) {
        axpy(i, 1.0, x.data());
        norms[i] = dot(i, x.data());
        for_each(i, [&](std::size_t j, double) { x[j] = 0.0; });
    }
    return norms;
}

// One pass over all indices as if they were one row, and one over the places where rows meet.
bool CsrRows::every_row_increases(Team* team) const {
    const Chunks chunks(rows_, stored());
    std::vector<std::size_t> all(chunks.count());
    chunks.for_each(team, [&](std::size_t chunk, std::size_t begin, std::size_t end) {
        const std::size_t first = starts_[begin], last = starts_[end];
        std::size_t falls = (indices_ + first).falls(last - first);
        for (std::size_t i = begin; i < end; ++i) {
            const std::size_t k = starts_[i];
            falls -= k > first && k < starts_[i + 1] && indices_[k - 1] >= indices_[k] ? 1 : 0;
        }
        all[chunk] = falls;
    });
    return std::all_of(all.begin(), all.end(), [](std::size_t falls) { return falls == 0; });
}

bool CsrRows::equal(std::size_t i, std::size_t j) const {
    return with_view([&](const auto& view) {
        const std::size_t first = starts_[i], other = starts_[j];
        bool same = stored(i) == stored(j);
        for (std::size_t k = 0; same && k < stored(i); ++k) {
            same = indices_[first + k] == indices_[other + k] && view.values[first + k] == view.values[other + k];
        }
        return same;
    });
}

void DenseRows::class_scores(std::size_t i, const double* weights, std::size_t width, double* scores) const {
    with_row(i, [&](auto* x) { maxmargin::class_scores(x, features(), weights, width, scores); });
}

void DenseRows::some_class_scores(std::size_t i, const double* weights, std::size_t width,
                                  std::span<const std::uint32_t> classes, double* scores) const {
    with_row(i, [&](auto* x) {
        maxmargin::some_class_scores(x, features(), weights, width, classes.data(), classes.size(), scores);
    });
}

void DenseRows::add_to_classes(std::size_t i, std::span<const std::uint32_t> classes, const double* changes,
                               double* weights, std::size_t width) const {
    with_row(i, [&](auto* x) {
        maxmargin::add_to_classes(x, features(), classes.data(), changes, classes.size(), weights, width);
    });
}

void DenseRows::scores(std::size_t first, std::size_t count, const double* weights, const double* intercepts,
                       std::size_t classes, double* scores) const {
    with_row(first, [&](auto* x) { dense_scores(x, count, features(), weights, intercepts, classes, scores); });
}

void DenseRows::add_outers(std::span<const RowIndex> rows, const double* scales, SymmetricMatrix& A, std::size_t first,
                           std::size_t last) const {
    with_row(0, [&]<class Value>(const Value* values) {
        for (std::size_t n = 0; n < rows.size(); n += 4) {
            const std::size_t count = std::min<std::size_t>(4, rows.size() - n);
            const Value* x[4];
            for (std::size_t r = 0; r < count; ++r) {
                x[r] = values + rows[n + r] * features();
            }
            add_dense_outers(scales + n, x, count, A, first, std::min(last, features()));
        }
    });
}

void DenseRows::add_squares(std::size_t i, double scale, double* w) const {
    with_row(i, [&](auto* x) {
        for (std::size_t k = 0; k < features(); ++k) {
            w[k] += scale * static_cast<double>(x[k]) * static_cast<double>(x[k]);
        }
    });
}

std::vector<double> DenseRows::squared_norms(Team* team) const {
    std::vector<double> norms(size());
    Chunks(size(), stored()).for_each(team, [&](std::size_t, std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            norms[i] = view_.squared_norm(i);
        }
    });
    return norms;
}

bool DenseRows::equal(std::size_t i, std::size_t j) const {
    return with_row(i, [&](auto* x) {
        const auto* y = x + (static_cast<std::ptrdiff_t>(j) - static_cast<std::ptrdiff_t>(i)) *
                                static_cast<std::ptrdiff_t>(features());
        return std::equal(x, x + features(), y);
    });
}

}  // namespace maxmargin
