// Rows that rest. A visit that finds the variables of a row held at their bounds changes nothing, and the next one
// would hardly do either: after one such visit an epoch passes without the row, after two in a row two, then four.
// Shrinking sets rows aside by a bar that falls with the largest violation, and for good; this needs no bar, takes rows
// from the first epochs on, and they come back by themselves.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "rows/row_source.hpp"

namespace maxmargin {

class Rests {
  public:
    // Without any rest all rows are always awake.
    explicit Rests(std::size_t size, bool any = true) : rows_(any ? size : 0), any_(any) {}

    // Those of the rows that are awake in the epoch that begins; all of them if none is.
    std::span<const RowIndex> begin_epoch(std::span<const RowIndex> rows) {
        ++epoch_;
        if (!any_ || epoch_ <= first_epochs + 1) {
            return rows;
        }
        awake_.clear();
        for (const RowIndex i : rows) {
            if (static_cast<std::int8_t>(now() - (rows_[i] & ~visits)) >= 0) {
                rows_[i] = static_cast<std::uint8_t>(now() | (rows_[i] & visits));
                awake_.push_back(i);
            }
        }
        return awake_.empty() ? rows : awake_;
    }

    // The rows that were visited, and of each whether nothing changed.
    void end_epoch(std::span<const RowIndex> visited, std::span<const std::uint8_t> still) {
        if (!any_ || epoch_ <= first_epochs) {
            return;
        }
        for (std::size_t k = 0; k < visited.size(); ++k) {
            std::uint8_t& row = rows_[visited[k]];
            const bool stays = k < still.size() && still[k] != 0;
            const unsigned count = stays ? std::min((row & visits) + 1U, longest) : 0;
            const unsigned rest = stays ? 1U << (count - 1U) : 0;
            row = static_cast<std::uint8_t>((now() + (rest + 1) * epoch) | count);
        }
    }

    void wake() {
        for (std::uint8_t& row : rows_) {
            row = static_cast<std::uint8_t>(now() | (row & visits));
        }
    }

  private:
    static constexpr std::uint32_t first_epochs = 2;  // in which variables still go to and fro
    static constexpr unsigned longest = 3;            // visits in a row; they are followed by four epochs of rest
    static constexpr std::uint8_t visits = 3, epoch = 4;

    // The epoch, as far as a row keeps it: epochs are counted modulo 64, which is enough for rests of four.
    std::uint8_t now() const { return static_cast<std::uint8_t>(epoch_ * epoch); }

    // Of each row the epoch from which on it takes part again, and below that the visits in a row that changed nothing.
    std::vector<std::uint8_t> rows_;
    std::vector<RowIndex> awake_;
    std::uint32_t epoch_ = 0;
    bool any_;
};

}  // namespace maxmargin
