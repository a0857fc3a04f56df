// Sorting scores in time that is linear in practice: a radix sort over scores spread evenly over 32 bits, then exact
// comparisons among the few that share a key. In threads each part of the entries is counted and moved by itself; the
// order that comes out is the same.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "numeric/huge_array.hpp"
#include "run/team.hpp"

namespace maxmargin {

class ScoreSorter {
  public:
    struct Entry {
        std::uint32_t key;
        std::uint32_t position;
    };

    // Positions 0 to n - 1 in rising order of their scores, which must be finite. Equal scores come in any order, but
    // always in the same one, for any number of threads.
    const HugeVector<Entry>& sort(const double* scores, std::size_t n, Team* team = nullptr) {
        entries_.resize(n);
        if (n <= few) {
            for (std::size_t i = 0; i < n; ++i) {
                entries_[i] = {0, static_cast<std::uint32_t>(i)};
            }
            sort_exactly(scores, 0, n);
            return entries_;
        }
        other_.resize(n);
        team_ = n < worth_sharing ? nullptr : team;
        parts_ = team_ == nullptr ? 1 : std::min(parts_per_thread * team_->size(), most_parts);
        counts_.resize(parts_);
        if (!spread(scores, n)) {
            return entries_;
        }
        for (const unsigned bits : {0U, 11U, 22U}) {
            pass(bits);
        }
        std::array<std::size_t, most_parts + 1> firsts{};
        for (std::size_t part = 1; part <= parts_; ++part) {
            const std::size_t begin = begin_of(part);
            firsts[part] = firsts[part - 1] >= begin ? firsts[part - 1] : after_equals(begin);
        }
        for_all(team_, parts_, [&](std::size_t part) { sort_equal_keys(scores, firsts[part], firsts[part + 1]); });
        return entries_;
    }

  private:
    static constexpr std::size_t few = 512, worth_sharing = 1 << 15, parts_per_thread = 2, most_parts = 32;
    static constexpr std::uint32_t digits = 1U << 11;
    using Counts = std::array<std::uint32_t, digits>;

    static std::uint32_t digit(std::uint32_t key, unsigned bits) { return (key >> bits) & (digits - 1); }
    std::size_t begin_of(std::size_t part) const { return entries_.size() * part / parts_; }

    // The keys. The map to keys never turns the order around, rounding included. False if all scores are equal, and
    // the entries so sorted already.
    bool spread(const double* scores, std::size_t n) {
        std::array<double, most_parts> lowest, highest;
        for_all(team_, parts_, [&](std::size_t part) {
            const auto [low, high] = std::minmax_element(scores + begin_of(part), scores + begin_of(part + 1));
            lowest[part] = *low;
            highest[part] = *high;
        });
        const double first = *std::min_element(lowest.begin(), lowest.begin() + static_cast<std::ptrdiff_t>(parts_));
        const double last = *std::max_element(highest.begin(), highest.begin() + static_cast<std::ptrdiff_t>(parts_));
        const double scale = last > first ? largest_key / (last - first) : 0.0;
        for_all(team_, parts_, [&](std::size_t part) {
            for (std::size_t i = begin_of(part); i < begin_of(part + 1) && i < n; ++i) {
                const double place = std::min((scores[i] - first) * scale, largest_key);
                entries_[i] = {static_cast<std::uint32_t>(static_cast<std::int64_t>(place)),
                               static_cast<std::uint32_t>(i)};
            }
        });
        return last > first;
    }

    // Sorts by one digit, and leaves entries of the same digit in their order.
    void pass(unsigned bits) {
        for_all(team_, parts_, [&](std::size_t part) {
            Counts& counts = counts_[part];
            counts.fill(0);
            for (std::size_t i = begin_of(part); i < begin_of(part + 1); ++i) {
                ++counts[digit(entries_[i].key, bits)];
            }
        });
        std::uint32_t sum = 0;
        for (std::uint32_t value = 0; value < digits; ++value) {
            for (Counts& counts : counts_) {
                sum += std::exchange(counts[value], sum);
            }
        }
        for_all(team_, parts_, [&](std::size_t part) {
            Counts& starts = counts_[part];
            for (std::size_t i = begin_of(part); i < begin_of(part + 1); ++i) {
                other_[starts[digit(entries_[i].key, bits)]++] = entries_[i];
            }
        });
        entries_.swap(other_);
    }

    // The first entry from i on whose key differs from that before it: where a part begins that has all entries of its
    // keys.
    std::size_t after_equals(std::size_t i) const {
        while (i > 0 && i < entries_.size() && entries_[i].key == entries_[i - 1].key) {
            ++i;
        }
        return i;
    }

    // Nothing from `last` on is looked at, which another thread may be sorting.
    void sort_equal_keys(const double* scores, std::size_t begin, std::size_t last) {
        for (std::size_t end; begin < last; begin = end) {
            end = begin + 1;
            while (end < last && entries_[end].key == entries_[begin].key) {
                ++end;
            }
            if (end > begin + 1) {
                sort_exactly(scores, begin, end);
            }
        }
    }

    void sort_exactly(const double* scores, std::size_t begin, std::size_t end) {
        std::sort(entries_.begin() + static_cast<std::ptrdiff_t>(begin),
                  entries_.begin() + static_cast<std::ptrdiff_t>(end), [scores](const Entry& a, const Entry& b) {
                      return scores[a.position] < scores[b.position] ||
                             (scores[a.position] == scores[b.position] && a.position < b.position);
                  });
    }

    static constexpr double largest_key = 4294967295.0;

    HugeVector<Entry> entries_;
    HugeVector<Entry> other_;
    std::vector<Counts> counts_;  // of each part
    std::size_t parts_ = 1;
    Team* team_ = nullptr;
};

}  // namespace maxmargin
