// Python's view of svmlight text: bytes in, arrays out, and back.
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <cstdlib>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bindings/arrays.hpp"
#include "text/number.hpp"
#include "text/svmlight_reader.hpp"
#include "text/svmlight_writer.hpp"

using namespace nanobind::literals;

namespace maxmargin {
namespace {

using Bytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::string_view view(const Bytes& bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

template <class T>
nb::object to_numpy(Buffer<T>&& buffer) {
    const std::size_t size = buffer.size;
    T* const data = buffer.data.release();
    nb::capsule owner(data, [](void* p) noexcept { std::free(p); });
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(data, {size}, owner));
}

template <class Narrow, class Wide>
nb::object to_numpy(EitherBuffer<Narrow, Wide>&& buffer) {
    return buffer.is_wide ? to_numpy(std::move(buffer.wide)) : to_numpy(std::move(buffer.narrow));
}

nb::object read_as(std::string_view text, const ReaderOptions& options, const nb::object& progress) {
    std::exception_ptr failure;
    auto interrupted = [&failure, &progress](double share) {
        nb::gil_scoped_acquire locked;
        try {
            if (PyErr_CheckSignals() != 0) {
                throw nb::python_error();
            }
            if (!progress.is_none()) {
                progress(share);
            }
        } catch (...) {
            failure = std::current_exception();
            return true;
        }
        return false;
    };
    SvmlightRows rows;
    {
        nb::gil_scoped_release unlocked;
        rows = read_rows(text, options, interrupted);
    }
    if (failure) {
        std::rethrow_exception(failure);
    }
    if (rows.too_wide) {
        return nb::none();
    }
    nb::list complaints;
    for (const Complaint& c : rows.complaints) {
        complaints.append(nb::make_tuple(c.line, c.column, c.message, c.excerpt, c.caret));
    }
    nb::dict result;
    result["complaints"] = complaints;
    result["dropped"] = rows.dropped;
    result["smallest"] = rows.smallest;
    result["largest"] = rows.largest;
    result["data"] = to_numpy(std::move(rows.values));
    result["indices"] = to_numpy(std::move(rows.indices));
    result["indptr"] = to_numpy(std::move(rows.starts));
    result["labels"] = to_numpy(std::move(rows.labels));
    result["label_starts"] = options.multilabel ? to_numpy(std::move(rows.label_starts)) : nb::none();
    result["qid"] = options.qid ? to_numpy(std::move(rows.qids)) : nb::none();
    return result;
}

nb::object read_svmlight(const Bytes& text, bool single, bool multilabel, bool qid, bool need_qid,
                         std::optional<std::int64_t> largest_index, bool drop_larger, bool allow_zero,
                         std::int64_t base, std::size_t max_complaints, int threads, const nb::object& progress) {
    ReaderOptions options{.multilabel = multilabel, .qid = qid, .drop_larger = drop_larger, .allow_zero = allow_zero};
    options.largest_index = largest_index.value_or(options.largest_index);
    options.need_qid = need_qid;
    options.base = base;
    options.max_complaints = max_complaints;
    options.threads = threads;
    options.single = single;
    const nb::object result = read_as(view(text), options, progress);
    if (!result.is_none()) {
        return result;
    }
    options.wide = true;
    return read_as(view(text), options, progress);
}

// One line per row: the given heads (label and qid), then the features.
nb::bytes write_svmlight(const AnyVector& values, const Vector<std::int64_t>& indices,
                         const Vector<std::int64_t>& starts, const std::optional<Vector<double>>& labels,
                         const std::optional<Vector<std::int64_t>>& label_starts,
                         const std::optional<Vector<std::int64_t>>& qid, std::int64_t base) {
    const std::size_t rows = starts.size() == 0 ? 0 : starts.size() - 1;
    if ((!label_starts && labels && labels->size() != rows) || (label_starts && label_starts->size() != rows + 1) ||
        (qid && qid->size() != rows)) {
        throw std::invalid_argument("labels and qid must have one entry per row");
    }
    std::string text;
    with_floats(values, [&](auto* x) {
        nb::gil_scoped_release unlocked;
        for (std::size_t i = 0; i < rows; ++i) {
            const auto begin = static_cast<std::size_t>(starts(i)), end = static_cast<std::size_t>(starts(i + 1));
            if (starts(i) < 0 || end < begin || end > values.size() || end > indices.size()) {
                throw std::invalid_argument("the row pointers (indptr) of X do not fit its values");
            }
            if (label_starts) {
                const auto first = (*label_starts)(i), last = (*label_starts)(i + 1);
                if (first < 0 || last < first || static_cast<std::size_t>(last) > labels->size()) {
                    throw std::invalid_argument("the label pointers do not fit the labels");
                }
                for (auto k = first; k < last; ++k) {
                    text.append(k == first ? "" : ",");
                    append_number(text, (*labels)(static_cast<std::size_t>(k)));
                }
            } else if (labels) {
                append_number(text, (*labels)(i));
            }
            if (qid) {
                text += " qid:";
                append_number(text, (*qid)(i));
            }
            append_features(text, x, indices.data(), begin, end, base);
            text += '\n';
        }
    });
    return nb::bytes(text.data(), text.size());
}

// Numbers separated by white space. Returns the array, and the position of the first thing that is none, or -1.
nb::tuple read_numbers(const Bytes& bytes) {
    const std::string_view text = view(bytes);
    std::vector<double> numbers;
    std::int64_t bad = -1;
    {
        nb::gil_scoped_release unlocked;
        const char *p = text.data(), *const end = p + text.size();
        auto is_space = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
        while (true) {
            while (p != end && is_space(*p)) {
                ++p;
            }
            if (p == end) {
                break;
            }
            const char* const start = p;
            double value = 0.0;
            NumberError error = NumberError::none;
            p = read_number(p, end, value, error);
            if (error != NumberError::none || (p != end && !is_space(*p))) {
                bad = start - text.data();
                break;
            }
            numbers.push_back(value);
        }
    }
    Buffer<double> buffer;
    buffer.allocate(numbers.size());
    std::copy(numbers.begin(), numbers.end(), buffer.data.get());
    buffer.size = numbers.size();
    return nb::make_tuple(to_numpy(std::move(buffer)), bad);
}

// One line per row of a matrix, numbers separated by spaces.
nb::bytes write_numbers(const nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>& values) {
    std::string text;
    {
        nb::gil_scoped_release unlocked;
        for (std::size_t i = 0; i < values.shape(0); ++i) {
            for (std::size_t j = 0; j < values.shape(1); ++j) {
                text.append(j == 0 ? "" : " ");
                append_number(text, values(i, j));
            }
            text += '\n';
        }
    }
    return nb::bytes(text.data(), text.size());
}

}  // namespace

void bind_text(nb::module_& m) {
    m.def("read_svmlight", &read_svmlight, "text"_a, "single"_a, "multilabel"_a, "qid"_a, "need_qid"_a,
          "largest_index"_a.none(), "drop_larger"_a, "allow_zero"_a, "base"_a, "max_complaints"_a, "threads"_a,
          "progress"_a.none());
    m.def("write_svmlight", &write_svmlight, "values"_a.noconvert(), "indices"_a.noconvert(), "indptr"_a.noconvert(),
          "labels"_a.noconvert(), "label_starts"_a.noconvert().none(), "qid"_a.noconvert().none(), "base"_a);
    m.def("write_numbers", &write_numbers, "values"_a);
    m.def("read_numbers", &read_numbers, "text"_a);
}

}  // namespace maxmargin
