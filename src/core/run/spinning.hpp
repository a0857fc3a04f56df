// Waiting for another thread that is about to be done: a thread spins, and after a while lets others have the
// processor.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <thread>

#include "numeric/compiler.hpp"

namespace maxmargin {

// Until it is so, or until `never` says that it will not be: whether it is so.
template <class Condition, class Never>
bool spin_until(const Condition& is_so, const Never& never) {
    constexpr std::size_t patience = 2000;
    for (std::size_t spins = 0; !is_so(); ++spins) {
        if (never()) {
            return is_so();
        }
        if (spins < patience) {
            MAXMARGIN_PAUSE();
        } else {
            std::this_thread::yield();
        }
    }
    return true;
}

// Until it is so, or for about as long as it takes to put a thread to sleep and to wake it a few times: whether it is
// so.
template <class Condition>
bool spin_for_a_while(const Condition& is_so) {
    constexpr auto most = std::chrono::microseconds(200);
    constexpr std::size_t between_looks = 64;
    const auto begin = std::chrono::steady_clock::now();
    for (std::size_t spins = 1; !is_so(); ++spins) {
        MAXMARGIN_PAUSE();
        if (spins % between_looks == 0) {
            if (std::chrono::steady_clock::now() - begin > most) {
                return is_so();
            }
            std::this_thread::yield();
        }
    }
    return true;
}

// Where the members of a team wait for each other inside one body.
class SpinBarrier {
  public:
    explicit SpinBarrier(std::size_t members) : members_(members) {}

    void wait() {
        const std::size_t turn = turn_.load(std::memory_order_acquire);
        if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == members_) {
            arrived_.store(0, std::memory_order_relaxed);
            turn_.store(turn + 1, std::memory_order_release);
            return;
        }
        spin_until([&] { return turn_.load(std::memory_order_acquire) != turn; }, [] { return false; });
    }

  private:
    const std::size_t members_;
    std::atomic<std::size_t> arrived_{0};
    std::atomic<std::size_t> turn_{0};
};

}  // namespace maxmargin
