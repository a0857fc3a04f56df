// The rows of one matrix with their type erased, checked once and shared by all problems over it (one-versus-rest).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "rows/packed_rows.hpp"
#include "rows/row_source.hpp"
#include "rows/swept_rows.hpp"
#include "rows/user_rows.hpp"

namespace maxmargin {

// Beyond this, products of C, row norms and dual variables could overflow.
inline constexpr double largest_squared_norm = 1e100;

struct PackedCopies {
    std::mutex mutex;
    std::shared_ptr<const PackedRows> exact, rounded;
};

class AnyRows {
  public:
    explicit AnyRows(const UserRows& rows)
        : rows_(rows), norms_(std::make_unique<Norms>()), copies_(std::make_unique<PackedCopies>()) {
        if (size() > std::numeric_limits<RowIndex>::max()) {
            throw std::invalid_argument("X has " + std::to_string(size()) + " rows; at most 4294967295 are supported");
        }
    }

    const UserRows& rows() const { return rows_; }
    std::size_t size() const { return rows_.size(); }
    std::size_t features() const { return rows_.features(); }
    std::size_t stored() const { return rows_.stored(); }

    // Computed when first asked for, once for all threads. Finds NaN and infinity on the way. (By a lock rather than by
    // std::call_once, which is not made for exceptions everywhere: they pass through pthread_once.)
    const std::vector<double>& squared_norms(Team* team = nullptr) const {
        const std::scoped_lock lock(norms_->mutex);
        if (!norms_->known) {
            norms_->values = rows_.squared_norms(team);
            for (std::size_t i = 0; i < norms_->values.size(); ++i) {
                if (!(norms_->values[i] <= largest_squared_norm)) {
                    throw std::invalid_argument("X contains NaN, infinity or values too large in row " +
                                                std::to_string(i) +
                                                " (counted from 0; squared norms must stay below 1e100)");
                }
            }
            norms_->known = true;
        }
        return norms_->values;
    }

    // A packed copy of sparse rows, made when first asked for and shared by all problems; null for dense ones. `exact`
    // asks for values without rounding, `parts` is how its columns are dealt out to the threads of a team.
    std::shared_ptr<const PackedRows> packed(bool exact, const ColumnParts& parts = {}, Team* team = nullptr) const {
        const CsrRows* sparse = rows_.sparse();
        if (!sparse) {
            return nullptr;
        }
        exact = exact || !have_ordinary_norms();
        const std::scoped_lock lock(copies_->mutex);
        std::shared_ptr<const PackedRows>& copy = exact ? copies_->exact : copies_->rounded;
        const std::shared_ptr<const PackedRows>& other = exact ? copies_->rounded : copies_->exact;
        if (!copy && other && (!exact || other->is_exact())) {
            copy = other;
        }
        if (copy && copy->parts().count() != parts.count()) {
            copies_->exact = copies_->rounded = nullptr;
        }
        if (!copy) {
            copy = std::make_shared<const PackedRows>(*sparse, exact, parts, team);
        }
        return copy;
    }

    // What sweeps should visit: a packed copy where it is wanted and can be had.
    SweptRows swept(bool pack, bool exact, const ColumnParts& parts = {}, Team* team = nullptr) const {
        return {rows_, pack ? packed(exact, parts, team) : nullptr};
    }

    double mean_squared_norm() const {
        const std::vector<double>& norms = squared_norms();
        return std::accumulate(norms.begin(), norms.end(), 0.0) / static_cast<double>(norms.size());
    }

  private:
    // Whether floats of all rows are as accurate as floats can be.
    bool have_ordinary_norms() const {
        const std::vector<double>& norms = squared_norms();
        return std::all_of(norms.begin(), norms.end(),
                           [](double square) { return square == 0.0 || (square > 1e-60 && square < 1e60); });
    }

    struct Norms {
        std::mutex mutex;
        bool known = false;
        std::vector<double> values;
    };
    UserRows rows_;
    std::unique_ptr<Norms> norms_;
    std::unique_ptr<PackedCopies> copies_;
};

// Row pointers must rise from 0 and stay within the arrays, column indices within the features: everything a kernel
// trusts.
template <class Index, class Pointer>
void check_csr(const Index* indices, std::size_t stored, const Pointer* starts, std::size_t rows,
               std::size_t features) {
    if (starts[0] != 0) {
        throw std::invalid_argument("the row pointers (indptr) of X must start at 0, not " + std::to_string(starts[0]));
    }
    for (std::size_t i = 0; i < rows; ++i) {
        if (starts[i + 1] < starts[i]) {
            throw std::invalid_argument("the row pointers (indptr) of X decrease at row " + std::to_string(i));
        }
    }
    const auto used = static_cast<std::size_t>(starts[rows]);
    if (used > stored) {
        throw std::invalid_argument("the row pointers (indptr) of X end at " + std::to_string(used) + ", but only " +
                                    std::to_string(stored) + " values are stored");
    }
    // As unsigned numbers negative indices are large, so one maximum finds both kinds of error.
    const std::uint64_t limit =
        std::min<std::uint64_t>(features, static_cast<std::uint64_t>(std::numeric_limits<Index>::max()) + 1);
    if (used > 0 && largest_index(indices, used) >= limit) {
        std::size_t k = 0;
        while (static_cast<std::uint64_t>(static_cast<std::int64_t>(indices[k])) < limit) {
            ++k;
        }
        throw std::invalid_argument("X has column index " + std::to_string(indices[k]) + " at position " +
                                    std::to_string(k) + ", but only " + std::to_string(features) + " columns");
    }
}

}  // namespace maxmargin
