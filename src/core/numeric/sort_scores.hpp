// Sorting scores in time that is linear in practice: a radix sort over scores spread evenly over 32 bits, then exact
// comparisons among the few that share a key.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace maxmargin {

class ScoreSorter {
  public:
    struct Entry {
        std::uint32_t key;
        std::uint32_t position;
    };

    // Positions 0 to n - 1 in rising order of their scores, which must be finite. Equal scores come in any order, but
    // always in the same one.
    const std::vector<Entry>& sort(const double* scores, std::size_t n) {
        entries_.resize(n);
        if (n <= few) {
            for (std::size_t i = 0; i < n; ++i) {
                entries_[i] = {0, static_cast<std::uint32_t>(i)};
            }
            sort_exactly(scores, 0, n);
            return entries_;
        }
        spread(scores, n);
        other_.resize(n);
        pass(0);
        pass(11);
        pass(22);
        for (std::size_t begin = 0; begin < n;) {
            std::size_t end = begin + 1;
            while (end < n && entries_[end].key == entries_[begin].key) {
                ++end;
            }
            if (end > begin + 1) {
                sort_exactly(scores, begin, end);
            }
            begin = end;
        }
        return entries_;
    }

  private:
    static constexpr std::size_t few = 512;
    static constexpr std::uint32_t digit = (1U << 11) - 1;

    // The keys, and how often each digit occurs. The map to keys never turns the order around, rounding included.
    void spread(const double* scores, std::size_t n) {
        const auto [low, high] = std::minmax_element(scores, scores + n);
        const double first = *low, scale = *high > first ? 4294967295.0 / (*high - first) : 0.0;
        for (auto& counts : counts_) {
            counts.fill(0);
        }
        for (std::size_t i = 0; i < n; ++i) {
            const double place = std::min((scores[i] - first) * scale, 4294967295.0);
            const auto key = static_cast<std::uint32_t>(static_cast<std::int64_t>(place));
            entries_[i] = {key, static_cast<std::uint32_t>(i)};
            ++counts_[0][key & digit];
            ++counts_[1][(key >> 11) & digit];
            ++counts_[2][key >> 22];
        }
    }

    void pass(unsigned bits) {
        auto& starts = counts_[bits / 11];
        std::uint32_t sum = 0;
        for (auto& start : starts) {
            const std::uint32_t count = start;
            start = sum;
            sum += count;
        }
        for (const Entry& entry : entries_) {
            other_[starts[(entry.key >> bits) & digit]++] = entry;
        }
        entries_.swap(other_);
    }

    void sort_exactly(const double* scores, std::size_t begin, std::size_t end) {
        std::sort(entries_.begin() + static_cast<std::ptrdiff_t>(begin),
                  entries_.begin() + static_cast<std::ptrdiff_t>(end), [scores](const Entry& a, const Entry& b) {
                      return scores[a.position] < scores[b.position] ||
                             (scores[a.position] == scores[b.position] && a.position < b.position);
                  });
    }

    std::vector<Entry> entries_;
    std::vector<Entry> other_;
    std::array<std::array<std::uint32_t, digit + 1>, 3> counts_;
};

}  // namespace maxmargin
