// svmlight text to CSR rows: `label [qid:q] index:value index:value ... # comment`, one row per line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "text/buffer.hpp"

namespace maxmargin {

// One bad line.
struct Complaint {
    std::int64_t line, column;  // both from 1
    std::string message;
    std::string excerpt;  // printable part of the line around the column
    std::int64_t caret;   // where in the excerpt the column is
};

struct ReaderOptions {
    bool multilabel = false;  // any number of labels per row, separated by commas
    bool qid = false;         // keep the query numbers; -1 where there is none
    bool need_qid = false;    // complain about rows without one
    std::int64_t largest_index = std::numeric_limits<std::int64_t>::max();
    bool drop_larger = false;  // leave out values beyond the largest index instead of complaining
    bool allow_zero = true;    // whether 0 is an index
    std::int64_t base = 0;     // subtracted from every index that is stored
    std::size_t max_complaints = 1;
    bool single = false;  // values as float32
    bool wide = false;    // indices of 64 bits
    int threads = 1;
    std::size_t smallest_slice = 1 << 16;  // characters; less is not worth a thread
};

// Numbers whose width is chosen by the user or by the text: one of the two buffers is filled.
template <class Narrow, class Wide>
struct EitherBuffer {
    Buffer<Narrow> narrow;
    Buffer<Wide> wide;
    bool is_wide = false;

    void allocate(std::size_t capacity) { is_wide ? wide.allocate(capacity) : narrow.allocate(capacity); }
    std::size_t size() const { return is_wide ? wide.size : narrow.size; }
    void set_size(std::size_t size) { (is_wide ? wide.size : narrow.size) = size; }
};

struct SvmlightRows {
    EitherBuffer<float, double> values;
    EitherBuffer<std::int32_t, std::int64_t> indices;
    Buffer<std::int64_t> starts;  // rows + 1
    Buffer<double> labels;
    Buffer<std::int64_t> label_starts;                                               // rows + 1, with multilabel only
    Buffer<std::int64_t> qids;                                                       // with qid only
    std::int64_t smallest = std::numeric_limits<std::int64_t>::max(), largest = -1;  // index, as in the text
    std::int64_t dropped = 0;
    std::vector<Complaint> complaints;
    bool too_wide = false;  // an index does not fit into 32 bits: read again with 64
};

// `interrupted` is asked now and then, with the share of the text that has been read; true ends the reading.
SvmlightRows read_rows(std::string_view text, const ReaderOptions& options, std::function<bool(double)> interrupted);

}  // namespace maxmargin
