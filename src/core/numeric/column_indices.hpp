// Columns of the entries of a sparse row: 32 or 64 bits each. Of the wide ones only the low half is read, so that loops
// are compiled once for both.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "numeric/compiler.hpp"
#include "numeric/simd.hpp"

namespace maxmargin {

class ColumnIndices {
    static_assert(std::endian::native == std::endian::little, "the low half of an index comes first");

  public:
    using Word MAXMARGIN_MAY_ALIAS = std::uint32_t;

    // More columns than a low half can tell apart.
    static constexpr std::size_t too_many = std::size_t{1} << 32;

    explicit ColumnIndices(const std::int32_t* indices) : words_(reinterpret_cast<const Word*>(indices)), shift_(0) {}
    explicit ColumnIndices(const std::int64_t* indices) : words_(reinterpret_cast<const Word*>(indices)), shift_(1) {}

    MAXMARGIN_ALWAYS_INLINE std::size_t operator[](std::size_t k) const { return words_[k << shift_]; }
    ColumnIndices operator+(std::size_t k) const { return {words_ + (k << shift_), shift_}; }

    // For loops in which a shift would tell: the narrow ones, or null.
    const Word* narrow() const { return shift_ == 0 ? words_ : nullptr; }

    const void* data() const { return words_; }
    std::size_t bytes(std::size_t count) const { return (count * sizeof(Word)) << shift_; }

    // How many of the first n are not below the one after.
    std::size_t falls(std::size_t n) const {
        return shift_ == 0 ? count_falls(reinterpret_cast<const std::int32_t*>(words_), n)
                           : count_falls(reinterpret_cast<const std::int64_t*>(words_), n);
    }

  private:
    ColumnIndices(const Word* words, unsigned shift) : words_(words), shift_(shift) {}

    const Word* words_;
    unsigned shift_;
};

}  // namespace maxmargin
