// Columns dealt out to parts, each of which belongs to one thread, so that each gets about as many entries. The columns
// of a part are neighbours, and so are their weights: no two threads write to one cache line, or to the next one, which
// processors fetch as well. The first part may get fewer columns, because its thread has more to do.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace maxmargin {

class ColumnParts {
  public:
    static constexpr std::size_t most = 16;  // parts

    ColumnParts() : ColumnParts(1, 1.0) {}

    // `share` of the entries goes to the first part, the rest evenly to the others.
    ColumnParts(std::size_t count, double share) : count_(count) {
        std::array<double, most> due{};
        for (std::size_t k = 0; k < period; ++k) {
            // Whoever is behind by most is next.
            for (std::size_t part = 0; part < count; ++part) {
                due[part] += part == 0 ? share : (1.0 - share) / static_cast<double>(count - 1);
            }
            const auto next = std::max_element(due.begin(), due.begin() + static_cast<std::ptrdiff_t>(count));
            *next -= 1.0;
            owners_[k] = static_cast<std::uint8_t>(next - due.begin());
            before_[k] = own_[owners_[k]]++;
        }
    }

    std::size_t count() const { return count_; }

    // The columns from `first` to `last`, which are sorted by falling frequency.
    class Range {
      public:
        Range() = default;
        Range(const ColumnParts& parts, std::size_t first, std::size_t last) : parts_(&parts), first_(first) {
            std::size_t begin = first;
            for (std::size_t part = 0; part < parts.count_; ++part) {
                begins_[part] = begin;
                begin += parts.count_before(last - first, part);
            }
        }

        // Where a column comes to be; the parts are one after the other, each still sorted.
        std::size_t position(std::size_t column) const {
            const std::size_t place = column - first_, part = parts_->owners_[place % period];
            return begins_[part] + place / period * parts_->own_[part] + parts_->before_[place % period];
        }
        // The part of the column at this position.
        std::size_t part_at(std::size_t position) const {
            std::size_t part = 0;
            for (std::size_t next = 1; next < parts_->count_; ++next) {
                part += position >= begins_[next] ? 1 : 0;
            }
            return part;
        }

      private:
        const ColumnParts* parts_ = nullptr;
        std::size_t first_ = 0;
        std::array<std::size_t, most> begins_{};
    };

  private:
    static constexpr std::size_t period = 64;

    std::size_t count_before(std::size_t place, std::size_t part) const {
        std::size_t result = place / period * own_[part];
        for (std::size_t k = 0; k < place % period; ++k) {
            result += owners_[k] == part ? 1 : 0;
        }
        return result;
    }

    std::size_t count_;
    std::array<std::uint8_t, period> owners_{};
    std::array<std::size_t, period> before_{};  // of the same owner
    std::array<std::size_t, most> own_{};       // in a period
};

}  // namespace maxmargin
