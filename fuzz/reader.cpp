// libFuzzer target: any bytes as svmlight text, under the address and undefined-behaviour sanitizers.
//
// Beyond not crashing: several threads give what one gives, rows are well formed, and what was read, written and read
// again is the same.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "text/svmlight_reader.hpp"
#include "text/svmlight_writer.hpp"

namespace {

using namespace maxmargin;

void require(bool fact) {
    if (!fact) {
        std::abort();
    }
}

template <class T>
bool same(const Buffer<T>& a, const Buffer<T>& b) {
    return a.size == b.size && (a.size == 0 || std::memcmp(a.data.get(), b.data.get(), a.size * sizeof(T)) == 0);
}

template <class Narrow, class Wide>
bool same(const EitherBuffer<Narrow, Wide>& a, const EitherBuffer<Narrow, Wide>& b) {
    return a.is_wide == b.is_wide && same(a.narrow, b.narrow) && same(a.wide, b.wide);
}

void check(std::string_view text, ReaderOptions options) {
    const auto one = read_rows(text, options, nullptr);
    options.threads = 3;
    options.smallest_slice = 4;
    const auto three = read_rows(text, options, nullptr);
    if (one.too_wide || three.too_wide) {
        return;  // the caller reads again with wider indices; one thread may have met a bad line before
    }
    require(one.complaints.size() == three.complaints.size());
    for (std::size_t k = 0; k < one.complaints.size(); ++k) {
        require(one.complaints[k].line == three.complaints[k].line);
        require(one.complaints[k].column == three.complaints[k].column);
        require(one.complaints[k].excerpt.size() <= 100);
    }
    if (!one.complaints.empty()) {
        return;
    }
    require(same(one.values, three.values) && same(one.indices, three.indices) && same(one.starts, three.starts));
    require(same(one.labels, three.labels) && same(one.label_starts, three.label_starts) && same(one.qids, three.qids));
    const std::size_t rows = one.starts.size - 1;
    std::string written;
    std::vector<std::int64_t> indices;
    for (std::size_t i = 0; i < rows; ++i) {
        const auto begin = static_cast<std::size_t>(one.starts.data[i]);
        const auto end = static_cast<std::size_t>(one.starts.data[i + 1]);
        require(begin <= end && end <= one.values.size());
        for (std::size_t k = begin; k < end; ++k) {
            require(std::isfinite(options.single ? one.values.narrow.data[k] : one.values.wide.data[k]));
            indices.push_back(options.wide ? one.indices.wide.data[k] : one.indices.narrow.data[k]);
            require(indices[k] + options.base >= 0 && (k == begin || indices[k] > indices[k - 1]));
        }
        const auto first = options.multilabel ? static_cast<std::size_t>(one.label_starts.data[i]) : i;
        const auto last = options.multilabel ? static_cast<std::size_t>(one.label_starts.data[i + 1]) : i + 1;
        for (std::size_t k = first; k < last; ++k) {
            written += k == first ? "" : ",";
            append_number(written, one.labels.data[k]);
        }
        if (options.qid && one.qids.data[i] >= 0) {
            written += " qid:";
            append_number(written, one.qids.data[i]);
        }
        if (options.single) {
            append_features(written, one.values.narrow.data.get(), indices.data(), begin, end, options.base);
        } else {
            append_features(written, one.values.wide.data.get(), indices.data(), begin, end, options.base);
        }
        written += '\n';
    }
    const auto again = read_rows(written, options, nullptr);
    // a multilabel row with neither labels nor features cannot be written
    require(options.multilabel || (again.complaints.empty() && same(one.values, again.values) &&
                                   same(one.indices, again.indices) && same(one.labels, again.labels)));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) {
        return 0;
    }
    const std::uint8_t bits = data[0];
    ReaderOptions options;
    options.multilabel = bits & 1;
    options.qid = bits & 2;
    options.allow_zero = bits & 4;
    options.need_qid = options.qid && size % 2;
    options.base = bits & 128 ? 1 : 0;
    options.drop_larger = bits & 8;
    options.largest_index = bits & 16 ? 100 : options.largest_index;
    options.max_complaints = bits & 32 ? 4 : 1;
    const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
    options.single = bits & 64;
    options.wide = !options.single;
    check(text, options);
    return 0;
}
