// The random generator of one fit: xoshiro256++ (Blackman & Vigna), seeded by splitmix64.
// Every fit owns one, so the same seed gives the same bits whatever else the process does.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace maxmargin {

// Whether number i is in a sample of one in `one_in`: as good as random, and always the same.
inline bool is_sampled(std::uint64_t i, std::uint64_t one_in) {
    return ((i * 0x9e3779b97f4a7c15u) >> 32) % one_in == 0;
}

class Random {
  public:
    explicit Random(std::uint64_t seed) {
        for (auto& word : state_) {
            seed += 0x9e3779b97f4a7c15u;
            std::uint64_t z = seed;
            z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
            z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
            word = z ^ (z >> 31);
        }
    }

    std::uint64_t bits() {
        const std::uint64_t result = std::rotl(state_[0] + state_[3], 23) + state_[0];
        const std::uint64_t t = state_[1] << 17;
        state_[2] ^= state_[0];
        state_[3] ^= state_[1];
        state_[1] ^= state_[2];
        state_[0] ^= state_[3];
        state_[2] ^= t;
        state_[3] = std::rotl(state_[3], 45);
        return result;
    }

    // Uniform in [0, bound). The multiply-shift is biased by less than bound / 2^32: irrelevant for an order of rows.
    std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(((bits() >> 32) * bound) >> 32); }

    // Uniform in [0, 1).
    double uniform() { return static_cast<double>(bits() >> 11) * 0x1.0p-53; }

    template <class T>
    void shuffle(std::span<T> items) {
        for (std::size_t k = items.size(); k > 1; --k) {
            std::swap(items[k - 1], items[below(static_cast<std::uint32_t>(k))]);
        }
    }

  private:
    std::uint64_t state_[4];
};

}  // namespace maxmargin
