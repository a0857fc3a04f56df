// How a running solver talks to the outside: reports with exact values, and a cheap poll for time limits and
// interrupts.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "loss.hpp"

namespace maxmargin {

struct Report {
    std::int64_t epoch;
    double seconds;
    double primal;
    double dual;
    double gap;
    std::int64_t active;
    const std::vector<double>& weights;  // of the iterate, the bias last
};

enum class Exit { converged, max_iter, time_limit, stopped, budget };

class Monitor {
  public:
    using Clock = std::chrono::steady_clock;

    // `on_report` returns true to stop the solver; `interrupted` is asked about twenty times a second.
    Monitor(double time_limit, std::function<bool(const Report&)> on_report, std::function<bool()> interrupted)
        : start_(Clock::now()),
          last_(start_),
          time_limit_(time_limit),
          on_report_(std::move(on_report)),
          interrupted_(std::move(interrupted)) {}

    double seconds() const { return since(start_); }

    // Called from inside epochs; true: end now. The reason is in `exit()`.
    bool poll(std::size_t work) {
        work_ += work;
        if (work_ < work_between_looks) {
            return ended_;
        }
        work_ = 0;
        return look();
    }

    bool look() {
        if (ended_) {
            return true;
        }
        if (seconds() >= time_limit_) {
            end(Exit::time_limit);
        } else if (!asked_ || since(last_) > 0.05) {
            asked_ = true;
            last_ = Clock::now();
            if (interrupted_ && interrupted_()) {
                end(Exit::stopped);
            }
        }
        return ended_;
    }

    // A solver that runs another one for a part of its work reports alone.
    void mute(bool muted) { muted_ = muted; }

    void report(const Report& values) {
        if (!muted_ && on_report_ && on_report_(values)) {
            end(Exit::stopped);
        }
    }

    bool ended() const { return ended_; }
    Exit exit() const { return exit_; }

  private:
    static constexpr std::size_t work_between_looks = std::size_t{1} << 19;  // stored values: about a millisecond

    static double since(Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); }
    void end(Exit reason) {
        if (ended_) {
            return;  // the first reason is the true one
        }
        ended_ = true;
        exit_ = reason;
    }

    Clock::time_point start_;
    Clock::time_point last_;
    double time_limit_;
    std::function<bool(const Report&)> on_report_;
    std::function<bool()> interrupted_;
    std::size_t work_ = 0;
    bool ended_ = false;
    bool muted_ = false;
    bool asked_ = false;  // the first look always asks: a stop may have been wanted before the start
    Exit exit_ = Exit::converged;
};

}  // namespace maxmargin
