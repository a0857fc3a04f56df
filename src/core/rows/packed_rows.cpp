#include "rows/packed_rows.hpp"

#include <algorithm>

namespace maxmargin {
namespace {

// A counting sort of the columns that occur more than once, by falling frequency.
template <class Value, class Index>
ColumnOrder order_columns(const CsrRows<Value, Index>& rows) {
    constexpr std::uint32_t most_counted = 1 << 16;  // columns that occur more often are alike
    constexpr std::size_t ahead = 32;
    std::vector<std::uint32_t> counts(rows.features());
    const Index* columns = rows.indices(0);
    const std::size_t stored = rows.stored();
    for (std::size_t k = 0; k < stored; ++k) {
        __builtin_prefetch(&counts[static_cast<std::size_t>(columns[std::min(k + ahead, stored - 1)])], 1);
        ++counts[static_cast<std::size_t>(columns[k])];
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
    order.rank.assign(rows.features(), ColumnOrder::none);
    for (std::size_t j = 0; j < counts.size(); ++j) {
        if (counts[j] >= 2) {
            order.rank[j] = place[std::min(counts[j], most_counted)]++;
            const bool near = order.rank[j] < PackedRows<float>::most_near;
            (near ? order.near : order.far) += counts[j];
        }
    }
    return order;
}

// Whether some values, spread over the matrix, are those of floats: then all of them may be.
template <class Value, class Index>
bool seems_float(const CsrRows<Value, Index>& rows) {
    constexpr std::size_t sample = 256;
    bool fits = true;
    for (std::size_t i = 0; i < rows.size() && fits; i += 1 + rows.size() / sample) {
        rows.for_each(i, [&](std::size_t, Value x) { fits = fits && static_cast<Value>(static_cast<float>(x)) == x; });
    }
    return fits;
}

}  // namespace

template <class Value, class Index>
Packed pack(const CsrRows<Value, Index>& rows, bool exact) {
    const ColumnOrder columns = order_columns(rows);
    if (!exact || seems_float(rows)) {
        PackedRows<float> packed(rows, columns);
        if (packed.is_exact() || !exact) {
            return packed;
        }
    }
    return PackedRows<double>(rows, columns);
}

template Packed pack(const CsrRows<float, std::int32_t>&, bool);
template Packed pack(const CsrRows<float, std::int64_t>&, bool);
template Packed pack(const CsrRows<double, std::int32_t>&, bool);
template Packed pack(const CsrRows<double, std::int64_t>&, bool);

}  // namespace maxmargin
