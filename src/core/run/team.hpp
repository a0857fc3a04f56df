// Threads that work on one thing at a time, together with the thread that asks: all run the same body. Between two
// bodies they sleep. What a body computes must not depend on how many members there are.
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

namespace maxmargin {

class Team {
  public:
    // With fewer threads than asked for where the system has no more.
    explicit Team(std::size_t size) {
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
        {
            const std::scoped_lock lock(mutex_);
            body_ = &body;
            busy_ = threads_.size();
            ++task_;
        }
        wake_.notify_all();
        work(0);
        std::unique_lock lock(mutex_);
        done_.wait(lock, [this] { return busy_ == 0; });
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
        for (std::size_t seen = 0;;) {
            {
                std::unique_lock lock(mutex_);
                wake_.wait(lock, [&] { return closing_ || task_ != seen; });
                if (closing_) {
                    return;
                }
                seen = task_;
            }
            work(member);
            const std::scoped_lock lock(mutex_);
            if (--busy_ == 0) {
                done_.notify_one();
            }
        }
    }

    std::mutex mutex_;
    std::condition_variable wake_, done_;
    const std::function<void(std::size_t)>* body_ = nullptr;
    std::size_t task_ = 0, busy_ = 0;
    bool closing_ = false;
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
