// The rows that sweeps visit: the user's, or a packed copy of them, which is the same problem with other columns. Which
// of the two is asked once per row and operation, and by `with_view` once in all, so that a method is compiled once.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "rows/packed_rows.hpp"
#include "rows/row_kinds.hpp"
#include "rows/user_rows.hpp"

namespace maxmargin {

class SweptRows : public RowKinds<SweptRows> {
    friend class RowKinds<SweptRows>;

    template <class Body>
    decltype(auto) with_kind(const Body& body) const {
        return packed_ ? body(*packed_) : body(*user_);
    }

  public:
    SweptRows(const UserRows& rows) : user_(&rows) {}
    SweptRows(const UserRows& rows, std::shared_ptr<const PackedRows> packed)
        : user_(&rows), packed_(std::move(packed)) {}

    bool is_packed() const { return packed_ != nullptr; }
    const PackedRows* packed() const { return packed_.get(); }
    // Of their columns, for several threads.
    std::size_t parts() const { return packed_ ? packed_->parts().count() : 1; }
    // Whether they have the user's values.
    bool is_exact() const { return !packed_ || packed_->is_exact(); }
    // From weights of these columns to weights of the user's; for packed rows only.
    void expand(const std::vector<double>& weights, std::vector<double>& full) const { packed_->expand(weights, full); }

    std::size_t size() const { return user_->size(); }
    std::size_t features() const {
        return with_kind([](const auto& rows) { return rows.features(); });
    }

  private:
    const UserRows* user_;
    std::shared_ptr<const PackedRows> packed_;
};

}  // namespace maxmargin
