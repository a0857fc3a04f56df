// One row of any kind as kernels for many problems read it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace maxmargin {

// Its entries: columns of 16 bits first, then columns of 32, then one more
// entry, of which the value may be 0.
template <class Value>
struct RowEntries {
    const Value* values;
    const std::uint16_t* near;
    const std::uint32_t* far;
    std::size_t near_count, count;
    double last_value;
    std::size_t last_column;
};

// Room for entries that have to be converted.
struct RowBuffer {
    std::vector<double> values;
    std::vector<std::uint32_t> columns;

    void make_room(std::size_t count) {
        if (values.size() < count) {
            values.resize(count);
            columns.resize(count);
        }
    }
};

}  // namespace maxmargin
