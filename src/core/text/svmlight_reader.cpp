// A first pass counts lines and colons, which bounds the rows and values of every slice of the text. So each thread
// writes its slice straight into its place of the final arrays; they are moved together afterwards only where comments,
// blank lines or qid made a bound too large.
#include "text/svmlight_reader.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <iterator>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "numeric/simd.hpp"
#include "text/number.hpp"

namespace maxmargin {

namespace {

class SvmlightReader {
  public:
    SvmlightReader(std::string_view text, const ReaderOptions& options, std::function<bool(double)> interrupted)
        : text_(text), options_(options), interrupted_(std::move(interrupted)) {}

    SvmlightRows read() {
        cut();
        in_threads([this](Slice& slice) { count(slice); });
        place();
        in_threads([this](Slice& slice) { parse(slice); });
        join();
        return std::move(rows_);
    }

  private:
    struct Slice {
        const char *begin = nullptr, *end = nullptr;
        std::size_t lines = 0, colons = 0, commas = 0;  // bounds, from counting
        std::int64_t first_line = 1;
        std::size_t row = 0, value = 0, label = 0;     // where its part of the arrays begins
        std::size_t rows = 0, values = 0, labels = 0;  // how much it wrote
        std::int64_t smallest = std::numeric_limits<std::int64_t>::max(), largest = -1, dropped = 0;
        std::vector<Complaint> complaints;
        std::exception_ptr failure;
        bool polls = false;  // this slice runs in the caller's thread, which may ask for interruption
    };

    static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }

    // Slices of about equal length that end at line ends.
    void cut() {
        const char *begin = text_.data(), *const end = begin + text_.size();
        const auto wanted = static_cast<std::size_t>(std::max(options_.threads, 1));
        const std::size_t count = std::clamp<std::size_t>(text_.size() / options_.smallest_slice, 1, wanted);
        for (std::size_t i = 0; i < count; ++i) {
            const char* stop = i + 1 == count ? end : std::max(begin, text_.data() + text_.size() / count * (i + 1));
            if (stop != end) {
                const void* found = std::memchr(stop, '\n', static_cast<std::size_t>(end - stop));
                stop = found ? static_cast<const char*>(found) + 1 : end;
            }
            Slice& slice = slices_.emplace_back();
            slice.begin = begin;
            slice.end = stop;
            begin = stop;
        }
        slices_.front().polls = true;
    }

    template <class Work>
    void in_threads(const Work& work) {
        auto guarded = [&work, this](Slice& slice) {
            try {
                work(slice);
            } catch (...) {
                slice.failure = std::current_exception();
                stop_ = true;
            }
        };
        std::vector<std::thread> threads;
        threads.reserve(slices_.size());
        for (std::size_t i = 1; i < slices_.size(); ++i) {
            try {
                threads.emplace_back(guarded, std::ref(slices_[i]));
            } catch (const std::system_error&) {
                guarded(slices_[i]);  // no more threads to be had: do the work here
            }
        }
        guarded(slices_.front());
        for (std::thread& thread : threads) {
            thread.join();
        }
        for (const Slice& slice : slices_) {
            if (slice.failure) {
                std::rethrow_exception(slice.failure);
            }
        }
    }

    void count(Slice& slice) {
        const auto size = static_cast<std::size_t>(slice.end - slice.begin);
        count_characters(slice.begin, size, '\n', ':', slice.lines, slice.colons);
        if (options_.multilabel) {
            std::size_t unused = 0;
            count_characters(slice.begin, size, ',', ',', slice.commas, unused);
        }
        if (size > 0 && slice.end[-1] != '\n') {
            ++slice.lines;
        }
    }

    void place() {
        std::size_t rows = 0, values = 0, labels = 0;
        for (Slice& slice : slices_) {
            slice.first_line = 1 + static_cast<std::int64_t>(rows);
            slice.row = rows;
            slice.value = values;
            slice.label = labels;
            rows += slice.lines;
            // the shortest value with its separator, "1:1 ", is four characters long
            values += std::min(slice.colons, static_cast<std::size_t>(slice.end - slice.begin) / 4 + 1);
            labels += slice.lines + slice.commas;
        }
        rows_.values.is_wide = !options_.single;
        rows_.indices.is_wide = options_.wide;
        rows_.values.allocate(values);
        rows_.indices.allocate(values);
        rows_.starts.allocate(rows + 1);
        rows_.labels.allocate(labels);
        if (options_.multilabel) {
            rows_.label_starts.allocate(rows + 1);
        }
        if (options_.qid) {
            rows_.qids.allocate(rows);
        }
    }

    void parse(Slice& slice) {
        std::int64_t line = slice.first_line;
        const char* next_poll = slice.begin;
        for (const char* p = slice.begin; p != slice.end; ++line) {
            if (p >= next_poll) {
                // Slices are of equal length, so that one of them tells how far all are.
                if (slice.polls && interrupted_ &&
                    interrupted_(static_cast<double>(p - slice.begin) / static_cast<double>(slice.end - slice.begin))) {
                    stop_ = true;
                }
                if (stop_.load(std::memory_order_relaxed)) {
                    return;
                }
                next_poll = slice.end - p > poll_every ? p + poll_every : slice.end;
            }
            p = parse_line(slice, p, line);
            if (p == nullptr) {
                return;
            }
        }
    }

    // Reads one line into the slice's next row. Returns the start of the next line, or null to end.
    const char* parse_line(Slice& slice, const char* const begin, std::int64_t line) {
        const char* const end = slice.end;
        const char* p = skip_spaces(begin, end);
        if (begin == text_.data() && end - begin >= 3 && std::memcmp(begin, "\xEF\xBB\xBF", 3) == 0) {
            p = skip_spaces(begin + 3, end);  // a byte order mark
        }
        const char* where = p;
        const char* message = nullptr;
        NumberError error = NumberError::none;
        if (ends_row(p, end)) {
            return next_line(p, end);
        }

        double* const labels = rows_.labels.data.get() + slice.label;
        std::size_t label_count = slice.labels;
        if (!options_.multilabel || !label_is_missing(p, end)) {
            while (true) {
                where = p;
                p = read_number(p, end, labels[label_count++], error);
                if (error != NumberError::none) {
                    message = error == NumberError::overflow ? "the label is too large for a double"
                                                             : "expected a label, a number";
                    break;
                }
                if (!options_.multilabel || p == end || *p != ',') {
                    break;
                }
                ++p;
            }
            if (message == nullptr && !ends_token(p, end)) {
                message = *p == ','   ? "a comma after the label: several labels (multilabel), or a table (CSV)?"
                          : *p == ':' ? "expected a label, a number, before the first feature"
                                      : "the label is not a number";
            }
        }

        std::int64_t query = -1;
        if (message == nullptr) {
            p = skip_spaces(p, end);
            if (end - p >= 4 && std::memcmp(p, "qid:", 4) == 0) {
                where = p;
                std::uint64_t number = 0;
                const char* const digits = p + 4;
                p = read_digits(digits, end, number);
                if (p == digits || p - digits > 18 || !ends_token(p, end)) {
                    message = "expected qid: and a whole number of at most 18 digits";
                }
                query = static_cast<std::int64_t>(number);
            } else if (options_.need_qid) {
                where = p;
                message = "the line has no qid: after the label";
            }
        }

        std::size_t count = slice.values;
        std::int64_t last = -1, largest = -1, dropped = 0;
        while (message == nullptr) {
            p = skip_spaces(p, end);
            if (ends_row(p, end)) {
                break;
            }
            where = p;
            std::int64_t index = 0;
            double value = 0.0;
            const char* const quick = end - p >= ordinary_length ? read_ordinary(p, index, value) : nullptr;
            if (quick != nullptr) [[likely]] {
                p = quick;
            } else {
                p = read_feature(p, end, index, value, where, message);
                if (message != nullptr) {
                    break;
                }
            }
            if (index <= last) {
                message = index == last ? "the feature index appears twice in this line"
                                        : "feature indices must increase within a line";
                break;
            }
            last = index;
            if (index > options_.largest_index) {
                if (options_.drop_larger) {
                    ++dropped;
                    continue;
                }
                message = "the feature index is beyond the number of features";
                break;
            }
            if (index == 0 && !options_.allow_zero) {
                message = "feature index 0 in a file that is read as one-based";
                break;
            }
            const std::int64_t column = index - options_.base;
            if (!options_.wide && column > std::numeric_limits<std::int32_t>::max()) {
                too_wide_ = true;
                stop_ = true;
                return nullptr;
            }
            const std::size_t place = slice.value + count;
            if (options_.single) {
                const auto stored = static_cast<float>(value);
                if (stored - stored != 0.0f) {
                    message = "the value is too large for float32";
                    break;
                }
                rows_.values.narrow.data[place] = stored;
            } else {
                rows_.values.wide.data[place] = value;
            }
            if (options_.wide) {
                rows_.indices.wide.data[place] = column;
            } else {
                rows_.indices.narrow.data[place] = static_cast<std::int32_t>(column);
            }
            if (count == slice.values) {
                slice.smallest = std::min(slice.smallest, index);
            }
            largest = index;
            ++count;
        }

        if (message != nullptr) {
            complain(slice, begin, where, line, message);
            if (slice.complaints.size() >= options_.max_complaints) {
                return nullptr;
            }
            return next_line(where, end);
        }
        if (count > slice.values) {
            slice.largest = std::max(slice.largest, largest);
        }
        const std::size_t row = slice.row + slice.rows;
        slice.dropped += dropped;
        slice.values = count;
        slice.labels = label_count;
        rows_.starts.data[row + 1] = static_cast<std::int64_t>(count);
        if (options_.multilabel) {
            rows_.label_starts.data[row + 1] = static_cast<std::int64_t>(label_count);
        }
        if (options_.qid) {
            rows_.qids.data[row] = query;
        }
        ++slice.rows;
        return next_line(p, end);
    }

    // Any feature, ordinary or not. After an error `where` is what is wrong, and `message` why.
    static const char* read_feature(const char* p, const char* end, std::int64_t& index, double& value,
                                    const char*& where, const char*& message) {
        std::uint64_t number = 0;
        p = read_digits(p, end, number);
        if (p == where || p == end || *p != ':') {
            message = p == where && end - p >= 4 && std::memcmp(p, "qid:", 4) == 0
                          ? "qid: must come right after the label"
                          : "expected index:value with a whole number as index";
            return p;
        }
        if (p - where > 18) {
            message = "the feature index is too large (more than 18 digits)";
            return p;
        }
        index = static_cast<std::int64_t>(number);
        const char* const after_colon = ++p;
        NumberError error = NumberError::none;
        p = read_number(p, end, value, error);
        if (error != NumberError::none || !ends_token(p, end)) {
            where = after_colon;
            message = error == NumberError::overflow ? "the value is too large for a double"
                                                     : "expected a finite number as value";
        }
        return p;
    }

    static const char* skip_spaces(const char* p, const char* end) {
        while (p != end && is_space(*p)) {
            ++p;
        }
        return p;
    }
    static bool ends_row(const char* p, const char* end) { return p == end || *p == '\n' || *p == '#'; }
    static bool ends_token(const char* p, const char* end) { return ends_row(p, end) || is_space(*p); }
    static const char* next_line(const char* p, const char* end) {
        if (p != end && *p == '\n') {
            return p + 1;
        }
        const void* found = std::memchr(p, '\n', static_cast<std::size_t>(end - p));
        return found ? static_cast<const char*>(found) + 1 : end;
    }
    // A multilabel row without labels starts with its first feature.
    static bool label_is_missing(const char* p, const char* end) {
        while (!ends_token(p, end)) {
            if (*p++ == ':') {
                return true;
            }
        }
        return false;
    }

    void complain(Slice& slice, const char* begin, const char* where, std::int64_t line, const char* message) const {
        const char* stop = where;
        while (stop != slice.end && *stop != '\n' && stop - where < excerpt_after) {
            ++stop;
        }
        const char* const start = where - begin > excerpt_before ? where - excerpt_before : begin;
        std::string excerpt(start, stop);
        for (char& c : excerpt) {
            c = c >= ' ' && c <= '~' ? c : (is_space(c) ? ' ' : '?');
        }
        slice.complaints.push_back({line, where - begin + 1, message, std::move(excerpt), where - start});
    }

    // Closes the gaps between the slices and makes row starts count from the first row.
    void join() {
        rows_.too_wide = too_wide_;
        for (Slice& slice : slices_) {
            std::move(slice.complaints.begin(), slice.complaints.end(), std::back_inserter(rows_.complaints));
        }
        if (rows_.complaints.size() > options_.max_complaints) {
            rows_.complaints.resize(options_.max_complaints);
        }
        std::size_t rows = 0, values = 0, labels = 0;
        rows_.starts.data[0] = 0;
        if (options_.multilabel) {
            rows_.label_starts.data[0] = 0;
        }
        for (const Slice& slice : slices_) {
            move_down(rows_.values, slice.value, values, slice.values);
            move_down(rows_.indices, slice.value, values, slice.values);
            move_down(rows_.labels, slice.label, labels, slice.labels);
            shift_down(rows_.starts, slice.row, rows, slice.rows, values);
            if (options_.multilabel) {
                shift_down(rows_.label_starts, slice.row, rows, slice.rows, labels);
            }
            if (options_.qid) {
                move_down(rows_.qids, slice.row, rows, slice.rows);
            }
            rows += slice.rows;
            values += slice.values;
            labels += slice.labels;
            rows_.smallest = std::min(rows_.smallest, slice.smallest);
            rows_.largest = std::max(rows_.largest, slice.largest);
            rows_.dropped += slice.dropped;
        }
        rows_.values.set_size(values);
        rows_.indices.set_size(values);
        rows_.starts.size = rows + 1;
        rows_.labels.size = labels;
        rows_.label_starts.size = options_.multilabel ? rows + 1 : 0;
        rows_.qids.size = options_.qid ? rows : 0;
    }

    template <class T>
    static void move_down(Buffer<T>& buffer, std::size_t from, std::size_t to, std::size_t count) {
        if (from != to && count > 0) {
            std::memmove(buffer.data.get() + to, buffer.data.get() + from, count * sizeof(T));
        }
    }
    template <class Narrow, class Wide>
    static void move_down(EitherBuffer<Narrow, Wide>& buffer, std::size_t from, std::size_t to, std::size_t count) {
        buffer.is_wide ? move_down(buffer.wide, from, to, count) : move_down(buffer.narrow, from, to, count);
    }
    static void shift_down(Buffer<std::int64_t>& starts, std::size_t from, std::size_t to, std::size_t count,
                           std::size_t offset) {
        for (std::size_t i = 1; i <= count && (from != to || offset != 0); ++i) {
            starts.data[to + i] = starts.data[from + i] + static_cast<std::int64_t>(offset);
        }
    }

    static constexpr std::ptrdiff_t poll_every = 1 << 22;  // characters
    static constexpr std::ptrdiff_t excerpt_before = 30, excerpt_after = 40;

    std::string_view text_;
    ReaderOptions options_;
    std::function<bool(double)> interrupted_;
    std::vector<Slice> slices_;
    std::atomic<bool> stop_{false}, too_wide_{false};
    SvmlightRows rows_;
};

}  // namespace

SvmlightRows read_rows(std::string_view text, const ReaderOptions& options, std::function<bool(double)> interrupted) {
    return SvmlightReader(text, options, std::move(interrupted)).read();
}

}  // namespace maxmargin
