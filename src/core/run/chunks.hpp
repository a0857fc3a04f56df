// Loops by fixed chunks: what is summed up is summed up chunk by chunk, in their order, so that the result has the same
// bits for any number of threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "run/team.hpp"

namespace maxmargin {

class Chunks {
  public:
    static constexpr std::size_t worth_waking = std::size_t{1} << 18;  // less work is done by one thread

    // Of `items` that take `work` in all, in stored values; each chunk has a sum of `width` numbers of its own, which
    // must be little beside its work.
    Chunks(std::size_t items, std::size_t work, std::size_t width = 1)
        : items_(items),
          work_(work),
          count_(std::clamp(work / (least_work + worth * width), std::size_t{1},
                            std::clamp(items, std::size_t{1}, most))) {}

    std::size_t count() const { return count_; }
    std::size_t begin(std::size_t chunk) const { return items_ * chunk / count_; }

    // body(chunk, begin, end) for each, in the threads of a team if there is one and it pays.
    template <class Body>
    void for_each(Team* team, const Body& body) const {
        for_all(work_ < worth_waking ? nullptr : team, count_,
                [&](std::size_t chunk) { body(chunk, begin(chunk), begin(chunk + 1)); });
    }

    // What body(begin, end) finds for each, added up in their order.
    template <class Sums, class Body>
    Sums sum(Team* team, const Body& body) const {
        std::vector<Sums> parts(count_);
        for_each(team, [&](std::size_t chunk, std::size_t begin, std::size_t end) { parts[chunk] = body(begin, end); });
        Sums all = parts[0];
        for (std::size_t chunk = 1; chunk < count_; ++chunk) {
            all += parts[chunk];
        }
        return all;
    }

  private:
    static constexpr std::size_t most = 64;
    static constexpr std::size_t least_work = std::size_t{1} << 14;  // of a chunk
    static constexpr std::size_t worth = 16;                         // of its work for each number of its sum

    std::size_t items_, work_, count_;
};

// What two threads write to must lie so many bytes apart: a cache line, and the next one, which processors fetch as
// well, belong to one of them at a time.
inline constexpr std::size_t apart = 128;

// A vector for each chunk, and their sum.
class ChunkSums {
  public:
    ChunkSums(const Chunks& chunks, std::size_t width)
        : width_(width), stride_(width + apart / sizeof(double)), sums_(chunks.count() * stride_) {}

    double* of(std::size_t chunk) { return sums_.data() + chunk * stride_; }

    void add_to(std::vector<double>& total) const {
        for (std::size_t begin = 0; begin < sums_.size(); begin += stride_) {
            for (std::size_t j = 0; j < width_; ++j) {
                total[j] += sums_[begin + j];
            }
        }
    }

  private:
    std::size_t width_, stride_;
    std::vector<double> sums_;
};

}  // namespace maxmargin
