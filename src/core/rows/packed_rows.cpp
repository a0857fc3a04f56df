#include "rows/packed_rows.hpp"
#include "numeric/compiler.hpp"

#include <algorithm>
#include <cmath>

namespace maxmargin {

// How columns of the user's matrix are numbered in a packed copy.
struct ColumnOrder {
    static constexpr std::uint32_t most_near = 1 << 16;

    std::vector<std::uint32_t> rank;  // of each column, or none
    std::size_t kept = 0;
    std::size_t near = 0, far = 0, alone = 0;  // entries of each kind
};

namespace {

constexpr std::size_t ahead = 32;  // entries whose columns are fetched before their turn

// A counting sort of the columns that occur more than once, by falling frequency.
ColumnOrder order_columns(ColumnIndices columns, std::size_t stored, std::size_t features) {
    constexpr std::uint32_t most_counted = 1 << 16;  // columns that occur more often are alike
    std::vector<std::uint32_t> counts(features);
    for (std::size_t k = 0; k < stored; ++k) {
        MAXMARGIN_PREFETCH_TO_WRITE(&counts[columns[std::min(k + ahead, stored - 1)]]);
        ++counts[columns[k]];
    }
    ColumnOrder order;
    std::vector<std::uint32_t> columns_with(most_counted + 1), place(most_counted + 1);
    for (const std::uint32_t count : counts) {
        ++columns_with[std::min(count, most_counted)];
        order.alone += count == 1 ? 1 : 0;
    }
    for (std::uint32_t count = most_counted; count >= 2; --count) {
        place[count] = static_cast<std::uint32_t>(order.kept);
        order.kept += columns_with[count];
    }
    order.rank.assign(features, no_column);
    for (std::size_t j = 0; j < counts.size(); ++j) {
        if (counts[j] >= 2) {
            order.rank[j] = place[std::min(counts[j], most_counted)]++;
            const bool near = order.rank[j] < ColumnOrder::most_near;
            (near ? order.near : order.far) += counts[j];
        }
    }
    return order;
}

// Whether some values, spread over the matrix, are those of floats: then all of them may be.
bool seems_float(const CsrRows& rows) {
    constexpr std::size_t sample = 256;
    bool fits = true;
    for (std::size_t i = 0; i < rows.size() && fits; i += 1 + rows.size() / sample) {
        rows.for_each(i,
                      [&](std::size_t, double x) { fits = fits && static_cast<double>(static_cast<float>(x)) == x; });
    }
    return fits;
}

}  // namespace

PackedRows::PackedRows(const CsrRows& rows, bool exact) : size_(rows.size()) {
    const ColumnOrder columns = order_columns(rows.indices(), rows.stored(), rows.features());
    rows_ = make_huge_array<Row>(size_ + 1);
    near_ = make_huge_array<std::uint16_t>(columns.near + 1);
    far_ = make_huge_array<std::uint32_t>(columns.far + 1);
    alone_ = make_huge_array<Alone>(columns.alone + 1);
    rank_ = columns.rank;
    kept_ = columns.kept;
    folds_ = columns.alone > 0;
    if (!exact || seems_float(rows)) {
        fill(rows, columns, floats_);
        if (exact_ || !exact) {
            return;
        }
        floats_.reset();
    }
    fill(rows, columns, doubles_);
}

template <class Value>
void PackedRows::fill(const CsrRows& rows, const ColumnOrder& columns, HugeArray<Value>& values) {
    values = make_huge_array<Value>(columns.near + columns.far + 1);
    exact_ = true;
    std::vector<Value> later(1);
    Row at{0, 0, 0, 0.0};
    for (std::size_t i = 0; i < size_; ++i) {
        rows_[i] = at;
        later.resize(std::max(later.size(), rows.stored(i) + 1));
        rows_[i].folded = rows.with_row(i, [&](auto* x, ColumnIndices indices, std::size_t count) {
            return add_row(x, indices, count, at, values.get() + at.start, later.data());
        });
    }
    rows_[size_] = at;
}

// Most entries are near, so that a branch for the others is foretold well. Returns the length of what is folded.
template <class Value, class Given>
double PackedRows::add_row(const Given* x, ColumnIndices columns, std::size_t count, Row& at, Value* values,
                           Value* later) {
    const std::uint32_t* rank = rank_.data();
    std::uint16_t* near = near_.get() + at.near;
    std::uint32_t* far = far_.get() + (at.start - at.near);
    Alone* alone = alone_.get() + at.alone;
    std::size_t nears = 0, fars = 0, alones = 0;
    double squares = 0.0;
    bool exact = true;
    for (std::size_t k = 0; k < count; ++k) {
        MAXMARGIN_PREFETCH(rank + columns[std::min(k + ahead, count - 1)]);
        const std::size_t j = columns[k];
        const std::uint32_t own = rank[j];
        const auto value = static_cast<Value>(x[k]);
        exact &= static_cast<double>(value) == static_cast<double>(x[k]);
        if (own < ColumnOrder::most_near) [[likely]] {
            near[nears] = static_cast<std::uint16_t>(own);
            values[nears++] = value;
        } else if (own != no_column) {
            far[fars] = own;
            later[fars++] = value;
        } else {
            const auto given = static_cast<double>(x[k]);
            alone[alones++] = {given, j};
            squares += given * given;
        }
    }
    std::copy_n(later, fars, values + nears);
    at.start += nears + fars;
    at.near += nears;
    at.alone += alones;
    exact_ = exact_ && exact;
    return std::sqrt(squares);
}

double PackedRows::dot(std::size_t i, const double* w) const {
    return with_view([&](const auto& view) { return view.dot(i, w); });
}

void PackedRows::axpy(std::size_t i, double a, double* w) const {
    with_view([&](const auto& view) { view.axpy(i, a, w); });
}

void PackedRows::expand(const std::vector<double>& packed, std::vector<double>& full) const {
    full.assign(rank_.size() + 1, 0.0);
    for_each_place([&](std::size_t to, std::size_t from, double factor) { full[to] = factor * packed[from]; });
    full.back() = packed.back();
}

}  // namespace maxmargin
