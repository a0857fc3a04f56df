// Threads that work on one thing at a time, together with the thread that asks: all run the same body. Between two
// bodies they look out for the next one for a while, because to wake a thread takes as long as a short body, and then
// sleep. What a body computes must not depend on how many members there are.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "run/spinning.hpp"

namespace maxmargin {

class Team {
  public:
    // With fewer threads than asked for where the system has no more.
    explicit Team(std::size_t size) {
        threads_.reserve(size > 1 ? size - 1 : 0);
        try {
            for (std::size_t member = 1; member < size; ++member) {
                threads_.emplace_back([this, member] { serve(member); });
            }
        } catch (const std::system_error&) {
        }
    }
    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;
    ~Team() {
        {
            const std::scoped_lock lock(mutex_);
            closing_ = true;
        }
        wake_.notify_all();
        for (std::thread& thread : threads_) {
            thread.join();
        }
    }

    std::size_t size() const { return threads_.size() + 1; }

    // body(member) by every member, from 0, which is the caller. The first exception of a body is thrown here.
    void run(const std::function<void(std::size_t)>& body) {
        bool any_asleep;
        {
            const std::scoped_lock lock(mutex_);
            body_ = &body;
            busy_.store(threads_.size(), std::memory_order_relaxed);
            task_.fetch_add(1, std::memory_order_release);
            any_asleep = asleep_ > 0;
        }
        if (any_asleep) {
            wake_.notify_all();
        }
        work(0);
        auto is_done = [this] { return busy_.load(std::memory_order_acquire) == 0; };
        if (!spin_for_a_while(is_done)) {
            std::unique_lock lock(mutex_);
            done_.wait(lock, is_done);
        }
        body_ = nullptr;
        if (failure_) {
            std::rethrow_exception(std::exchange(failure_, nullptr));
        }
    }

  private:
    void work(std::size_t member) {
        try {
            (*body_)(member);
        } catch (...) {
            const std::scoped_lock lock(mutex_);
            if (!failure_) {
                failure_ = std::current_exception();
            }
        }
    }

    void serve(std::size_t member) {
        for (std::size_t seen = 0;; ++seen) {
            auto is_wanted = [&] { return closing_ || task_.load(std::memory_order_acquire) != seen; };
            if (!spin_for_a_while(is_wanted)) {
                std::unique_lock lock(mutex_);
                ++asleep_;
                wake_.wait(lock, is_wanted);
                --asleep_;
            }
            if (closing_) {
                return;
            }
            work(member);
            if (busy_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
                const std::scoped_lock lock(mutex_);  // so that the caller is not between its last look and its sleep
                done_.notify_one();
            }
        }
    }

    std::mutex mutex_;
    std::condition_variable wake_, done_;
    const std::function<void(std::size_t)>* body_ = nullptr;
    std::atomic<std::size_t> task_{0}, busy_{0};
    std::size_t asleep_ = 0;
    std::atomic<bool> closing_{false};
    std::exception_ptr failure_;
    std::vector<std::thread> threads_;
};

// body(k) for all k below a count, by the threads of a team if there is one, each taking the next that is left.
template <class Body>
void for_all(Team* team, std::size_t count, const Body& body) {
    if (team == nullptr || count == 1) {
        for (std::size_t k = 0; k < count; ++k) {
            body(k);
        }
        return;
    }
    std::atomic<std::size_t> next{0};
    team->run([&](std::size_t) {
        for (std::size_t k = next++; k < count; k = next++) {
            body(k);
        }
    });
}

}  // namespace maxmargin
