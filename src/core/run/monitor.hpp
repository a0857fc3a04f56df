// How a running method talks to the outside: reports of its bounds, and a cheap poll for time limits and interrupts.
// One monitor serves all stages of a fit, so that their epochs, seconds and reports go on from each other.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace maxmargin {

class Team;  // run/team.hpp

// What a method is to reach, and how far it may go.
struct Limits {
    double tol;
    std::int64_t max_iter;  // epochs, steps or cuts of a stage
    double max_passes;      // work of a stage; ends with Exit::budget
    double worth;           // passes more that it may need at its pace; likewise
    double patience;        // passes after which it is given up when it stalls; likewise
    std::uint64_t seed;
};

struct Report {
    std::int64_t epoch;
    double seconds;
    double check_seconds;  // the part of them spent on certificates and reports
    double primal;
    double dual;
    double gap;
    std::int64_t active;
    const std::vector<double>& weights;  // those of the primal value, the bias last
};

// `budget` means that a stage has used up its work or gets nowhere, so that another method may go on; `epsilon` that
// the stopping rule of a paper was met.
enum class Exit { converged, max_iter, time_limit, stopped, budget, epsilon };

struct Outcome {
    Exit exit = Exit::converged;
    std::int64_t epochs = 0;
};

class Monitor {
  public:
    using Clock = std::chrono::steady_clock;

    // `on_report` returns true to stop the method; `interrupted` is asked about twenty times a second. With an interval
    // of passes or seconds methods report that often, else whenever they certify.
    Monitor(double time_limit, std::function<bool(const Report&)> on_report, std::function<bool()> interrupted,
            double passes_between_reports = 0.0, double seconds_between_reports = 0.0, bool wants_weights = true)
        : start_(Clock::now()),
          last_(start_),
          time_limit_(time_limit),
          on_report_(std::move(on_report)),
          interrupted_(std::move(interrupted)),
          passes_between_reports_(passes_between_reports),
          seconds_between_reports_(seconds_between_reports),
          wants_weights_(wants_weights) {}

    // Whether reports are to come with the best weights so far; others may have older ones.
    bool wants_weights() const { return wants_weights_; }

    // The threads of a stage; null for one.
    Team* team() const { return team_; }
    void work_with(Team* team) { team_ = team; }

    double seconds() const { return since(start_); }
    double time_left() const { return time_limit_ - seconds(); }
    double check_seconds() const { return check_seconds_; }

    // What has to be done after the last stage, in seconds: to verify the bounds and to read them out.
    void reserve(double seconds) { reserve_ = seconds; }

    // What the certificates of a stage cost, in the unit of `poll`, until one of them has been timed.
    void expect_check(double work) {
        expected_check_ = work;
        stage_work_ = 0.0;
        stage_start_ = seconds();
    }

    // Called from inside epochs; true: end now. The reason is in `exit()`.
    bool poll(std::size_t work) {
        work_ += work;
        if (work_ < work_between_looks) {
            return ended_;
        }
        stage_work_ += static_cast<double>(work_);
        work_ = 0;
        return look();
    }

    // A last certificate comes after the end, and is verified; `reserve` is what else a method has to do then, in
    // seconds.
    bool look(double reserve = 0.0) {
        if (ended_) {
            return true;
        }
        if (seconds() + reserve_ + reserve + 2.0 * check_cost() >= time_limit_) {
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

    // Whether the interval that was asked for has passed; `passes` is the work done so far.
    bool report_due(double passes) const {
        return (passes_between_reports_ > 0.0 && passes >= reported_passes_ + passes_between_reports_) ||
               (seconds_between_reports_ > 0.0 &&
                seconds() - check_seconds_ >= reported_seconds_ + seconds_between_reports_);
    }

    double seconds_between_reports() const { return seconds_between_reports_; }

    // The bounds of a method, as the next line of the history. Work is counted from the start of its stage.
    template <class Bounds>
    void report(std::int64_t epoch, double passes, std::size_t active, const Bounds& bounds) {
        last_check_ = check_seconds_ - checks_before_;
        tell(epochs_before_ + epoch, passes, active, bounds);
        checks_before_ = check_seconds_;
    }

    // While one lives, time counts as spent on certificates and reports.
    class Checking {
      public:
        explicit Checking(Monitor& monitor) : monitor_(monitor), outermost_(!monitor.checking_) {
            monitor_.checking_ = true;
            begin_ = Clock::now();
        }
        ~Checking() {
            if (outermost_) {
                monitor_.checking_ = false;
                monitor_.check_seconds_ += since(begin_);
            }
        }
        Checking(const Checking&) = delete;
        Checking& operator=(const Checking&) = delete;

      private:
        Monitor& monitor_;
        bool outermost_;
        Clock::time_point begin_;
    };

    void end_stage(std::int64_t epochs) {
        epochs_before_ += epochs;
        reported_passes_ = 0.0;
    }

    bool ended() const { return ended_; }
    Exit exit() const { return exit_; }

  private:
    template <class Bounds>
    void tell(std::int64_t epoch, double passes, std::size_t active, const Bounds& bounds) {
        const Checking checking(*this);
        if (reported_ && epoch == last_epoch_ && bounds.primal() == last_primal_ && bounds.dual() == last_dual_) {
            return;  // nothing is said twice
        }
        reported_ = true;
        last_epoch_ = epoch;
        last_primal_ = bounds.primal();
        last_dual_ = bounds.dual();
        reported_passes_ = passes;
        reported_seconds_ = seconds() - check_seconds_;
        if (on_report_ && on_report_({epoch, seconds(), check_seconds_, bounds.primal(), bounds.dual(), bounds.gap(),
                                      static_cast<std::int64_t>(active), bounds.weights()})) {
            end(Exit::stopped);
        }
    }

    static constexpr std::size_t work_between_looks = std::size_t{1} << 19;  // stored values: about a millisecond
    static constexpr double usual_pace = 1e-9;                               // seconds for a stored value

    // As the last one took, or as the pace of the stage so far lets expect; before it is known, a usual one.
    double check_cost() const {
        if (last_check_ > 0.0) {
            return last_check_;
        }
        return expected_check_ * (stage_work_ > 0.0 ? (seconds() - stage_start_) / stage_work_ : usual_pace);
    }

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
    double passes_between_reports_, seconds_between_reports_;
    bool wants_weights_;
    Team* team_ = nullptr;
    double reported_passes_ = 0.0, reported_seconds_ = 0.0;
    std::int64_t epochs_before_ = 0;
    bool reported_ = false;
    std::int64_t last_epoch_ = 0;
    double last_primal_ = 0.0, last_dual_ = 0.0;
    std::size_t work_ = 0;
    double check_seconds_ = 0.0;
    double checks_before_ = 0.0, last_check_ = 0.0;  // up to the last report, and for the certificate before it
    double reserve_ = 0.0;
    double expected_check_ = 0.0, stage_work_ = 0.0, stage_start_ = 0.0;
    bool checking_ = false;
    bool ended_ = false;
    bool asked_ = false;  // the first look always asks: a stop may have been wanted before the start
    Exit exit_ = Exit::converged;
};

}  // namespace maxmargin
