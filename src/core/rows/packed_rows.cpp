#include "rows/packed_rows.hpp"
#include "numeric/compiler.hpp"
#include "run/team.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace maxmargin {

// How columns of the user's matrix are numbered in a packed copy, and where the entries of each chunk of rows go.
struct ColumnOrder {
    static constexpr std::uint32_t most_near = 1 << 16;

    // Of one chunk, or of all before it, by parts.
    struct Entries {
        std::vector<std::size_t> near, far;
        std::size_t alone = 0;
    };

    std::vector<std::uint32_t> rank;  // of each column, or none
    std::size_t kept = 0;
    ColumnParts::Range near, far;
    std::vector<std::size_t> rows;  // the first of each chunk, and their number
    std::vector<Entries> entries;   // before each chunk, and in all
};

namespace {

constexpr std::size_t ahead = 32;  // entries whose columns are fetched before their turn

// Chunks of rows with about as many entries each.
std::vector<std::size_t> chunks_of_rows(const CsrRows& rows, std::size_t count) {
    std::vector<std::size_t> first(count + 1, rows.size());
    std::size_t stored = 0, chunk = 0;
    for (std::size_t i = 0; i < rows.size() && chunk < count; ++i) {
        while (chunk < count && stored * count >= chunk * rows.stored()) {
            first[chunk++] = i;
        }
        stored += rows.stored(i);
    }
    first[0] = 0;
    return first;
}

// A counting sort of the columns that occur more than once, by falling frequency.
ColumnOrder order_columns(const CsrRows& rows, const ColumnParts& parts, std::size_t chunks, Team* team) {
    constexpr std::uint32_t most_counted = 1 << 16;  // columns that occur more often are alike
    const ColumnIndices columns = rows.indices();
    const std::size_t features = rows.features();
    ColumnOrder order;
    order.rows = chunks_of_rows(rows, chunks);
    std::vector<std::vector<std::uint32_t>> counts(chunks);
    for_all(team, chunks, [&](std::size_t chunk) {
        std::vector<std::uint32_t>& own = counts[chunk];
        own.resize(features);
        const std::size_t begin = rows.start(order.rows[chunk]), end = rows.start(order.rows[chunk + 1]);
        for (std::size_t k = begin; k < end; ++k) {
            MAXMARGIN_PREFETCH_TO_WRITE(&own[columns[std::min(k + ahead, end - 1)]]);
            ++own[columns[k]];
        }
    });
    std::vector<std::uint32_t> all = counts[0];
    for (std::size_t chunk = 1; chunk < chunks; ++chunk) {
        std::transform(all.begin(), all.end(), counts[chunk].begin(), all.begin(), std::plus<>());
    }
    std::vector<std::uint32_t> columns_with(most_counted + 1), place(most_counted + 1);
    for (const std::uint32_t count : all) {
        ++columns_with[std::min(count, most_counted)];
    }
    for (std::uint32_t count = most_counted; count >= 2; --count) {
        place[count] = static_cast<std::uint32_t>(order.kept);
        order.kept += columns_with[count];
    }
    const std::size_t near = std::min<std::size_t>(order.kept, ColumnOrder::most_near);
    order.near = {parts, 0, near};
    order.far = {parts, near, order.kept};
    order.rank.assign(features, no_column);
    for (std::size_t j = 0; j < features; ++j) {
        if (all[j] >= 2) {
            const std::uint32_t rank = place[std::min(all[j], most_counted)]++;
            order.rank[j] = parts.count() == 1
                                ? rank
                                : static_cast<std::uint32_t>((rank < near ? order.near : order.far).position(rank));
        }
    }
    const std::vector<std::size_t> none(parts.count());
    order.entries.resize(chunks + 1, {none, none, 0});
    for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
        ColumnOrder::Entries next = order.entries[chunk];
        for (std::size_t j = 0; j < features; ++j) {
            const std::uint32_t rank = order.rank[j];
            (rank < ColumnOrder::most_near ? next.near[order.near.part_at(rank)]
             : rank != no_column           ? next.far[order.far.part_at(rank)]
                                           : next.alone) += counts[chunk][j];
        }
        order.entries[chunk + 1] = std::move(next);
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

// So many chunks that what each of them counts, a number for each column, is little beside its entries.
std::size_t count_chunks(const CsrRows& rows) {
    constexpr std::size_t most = 8;
    return std::clamp(rows.stored() / (4 * rows.features() + 1), std::size_t{2}, most);
}

}  // namespace

PackedRows::PackedRows(const CsrRows& rows, bool exact, const ColumnParts& parts, Team* team)
    : dealt_(parts), parts_(parts.count()), size_(rows.size()) {
    const ColumnOrder columns = order_columns(rows, dealt_, team == nullptr ? 1 : count_chunks(rows), team);
    const ColumnOrder::Entries& all = columns.entries.back();
    for (std::size_t p = 0; p < parts_.size(); ++p) {
        parts_[p].rows = make_huge_array<Row>(size_ + 1);
        parts_[p].near = make_huge_array<std::uint16_t>(all.near[p] + 1);
        parts_[p].far = make_huge_array<std::uint32_t>(all.far[p] + 1);
        stored_ += all.near[p] + all.far[p];
    }
    alone_ = make_huge_array<Alone>(all.alone + 1);
    alone_starts_ = make_huge_array<std::size_t>(size_ + 1);
    rank_ = columns.rank;
    kept_ = columns.kept;
    folds_ = all.alone > 0;
    stored_ += folds_ ? size_ : 0;
    if (!exact || seems_float(rows)) {
        fill<float>(rows, columns, team);
        if (exact_ || !exact) {
            return;
        }
        for (Part& part : parts_) {
            part.floats.reset();
        }
    }
    floats_ = false;
    fill<double>(rows, columns, team);
}

// Where the entries of one row go, in one part. The values of far entries wait until those of near ones are all there.
template <class Value>
struct PackedRows::Target {
    std::uint16_t* near;
    std::uint32_t* far;
    Value* values;
    std::vector<Value> later;
    std::size_t nears, fars;

    void begin(Part& part, std::size_t i, std::size_t count) {
        const Row& row = part.rows[i];
        near = part.near.get() + row.near;
        far = part.far.get() + (row.start - row.near);
        values = part.values<Value>().get() + row.start;
        later.resize(std::max(later.size(), count + 1));
        nears = fars = 0;
    }
};

template <class Value>
void PackedRows::fill(const CsrRows& rows, const ColumnOrder& columns, Team* team) {
    const ColumnOrder::Entries& all = columns.entries.back();
    const std::size_t chunks = columns.rows.size() - 1;
    for (std::size_t p = 0; p < parts_.size(); ++p) {
        parts_[p].template values<Value>() = make_huge_array<Value>(all.near[p] + all.far[p] + 1);
        parts_[p].rows[size_] = {all.near[p] + all.far[p], all.near[p], 0.0};
    }
    alone_starts_[size_] = all.alone;
    std::vector<char> exact(chunks, 1);
    for_all(team, chunks, [&](std::size_t chunk) {
        const ColumnOrder::Entries& before = columns.entries[chunk];
        std::vector<Target<Value>> targets(parts_.size());
        const std::size_t first = columns.rows[chunk], last = columns.rows[chunk + 1];
        // The place of a row is known when the one before is done, that of the next chunk's first one is known.
        for (std::size_t i = first; i < last; ++i) {
            if (i == first) {
                for (std::size_t p = 0; p < parts_.size(); ++p) {
                    parts_[p].rows[i] = {before.near[p] + before.far[p], before.near[p], 0.0};
                }
                alone_starts_[i] = before.alone;
            }
            for (std::size_t p = 0; p < parts_.size(); ++p) {
                targets[p].begin(parts_[p], i, rows.stored(i));
            }
            exact[chunk] &= static_cast<char>(rows.with_row(i, [&](auto* x, ColumnIndices indices, std::size_t count) {
                return add_row(columns, x, indices, count, i, i + 1 < last, targets);
            }));
        }
    });
    exact_ = std::all_of(exact.begin(), exact.end(), [](char is) { return is != 0; });
}

// Most entries are near, so that a branch for the others is foretold well. Returns whether no value was rounded.
template <class Value, class Given>
bool PackedRows::add_row(const ColumnOrder& order, const Given* x, ColumnIndices columns, std::size_t count,
                         std::size_t i, bool has_next, std::vector<Target<Value>>& targets) {
    const std::uint32_t* rank = rank_.data();
    Alone* alone = alone_.get() + alone_starts_[i];
    std::size_t alones = 0;
    double squares = 0.0;
    bool exact = true;
    auto for_each_entry = [&](const auto& part_of_near, const auto& part_of_far) {
        for (std::size_t k = 0; k < count; ++k) {
            MAXMARGIN_PREFETCH(rank + columns[std::min(k + ahead, count - 1)]);
            const std::size_t j = columns[k];
            const std::uint32_t own = rank[j];
            const auto value = static_cast<Value>(x[k]);
            exact &= static_cast<double>(value) == static_cast<double>(x[k]);
            if (own < ColumnOrder::most_near) [[likely]] {
                Target<Value>& part = targets[part_of_near(own)];
                part.near[part.nears] = static_cast<std::uint16_t>(own);
                part.values[part.nears++] = value;
            } else if (own != no_column) {
                Target<Value>& part = targets[part_of_far(own)];
                part.far[part.fars] = own;
                part.later[part.fars++] = value;
            } else {
                const auto given = static_cast<double>(x[k]);
                alone[alones++] = {given, j};
                squares += given * given;
            }
        }
    };
    if (parts_.size() == 1) {
        for_each_entry([](std::size_t) { return 0; }, [](std::size_t) { return 0; });
    } else {
        for_each_entry([&](std::size_t column) { return order.near.part_at(column); },
                       [&](std::size_t column) { return order.far.part_at(column); });
    }
    for (std::size_t p = 0; p < parts_.size(); ++p) {
        Row& row = parts_[p].rows[i];
        const std::size_t nears = targets[p].nears, fars = targets[p].fars;
        std::copy_n(targets[p].later.data(), fars, targets[p].values + nears);
        row.folded = p == 0 ? std::sqrt(squares) : 0.0;
        if (has_next) {
            parts_[p].rows[i + 1] = {row.start + nears + fars, row.near + nears, 0.0};
        }
    }
    if (has_next) {
        alone_starts_[i + 1] = alone_starts_[i] + alones;
    }
    return exact;
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
