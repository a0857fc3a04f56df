// One call of `solve` as the core sees it: limits, reports and interrupts, with Python on the other side.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>

#include "run/monitor.hpp"
#include "run/team.hpp"

namespace maxmargin {

namespace nb = nanobind;

// Set from one thread to end methods running in others.
struct StopFlag {
    std::atomic<bool> value{false};
};

class PyRun {
  public:
    PyRun(double time_limit, nb::object on_report, nb::object stop, double report_passes, double report_seconds,
          bool with_weights, std::size_t threads);

    // Runs a stage with the interpreter unlocked. Python code it calls back may raise: that ends the stage, then is
    // raised here.
    template <class Method>
    Exit stage(const Method& method) {
        Outcome outcome;
        {
            nb::gil_scoped_release unlocked;
            std::optional<Team> team;
            const Dismissal dismissal{*monitor_};
            if (threads_ > 1) {
                monitor_->work_with(&team.emplace(threads_));
            }
            outcome = monitor_->look() ? Outcome{monitor_->exit(), 0} : method(*monitor_);
        }
        end_stage(outcome);
        return outcome.exit;
    }

    // The same in two parts, for a stage that several runs share.
    Monitor& monitor() { return *monitor_; }
    void end_stage(const Outcome& outcome) {
        if (failure_) {
            std::rethrow_exception(failure_);
        }
        epochs_ += outcome.epochs;
        monitor_->end_stage(outcome.epochs);
    }

    void reserve(double seconds) { monitor_->reserve(seconds); }
    std::int64_t epochs() const { return epochs_; }
    double check_seconds() const { return monitor_->check_seconds(); }

  private:
    // However a stage ends, nobody is given its team after it.
    struct Dismissal {
        Monitor& monitor;
        ~Dismissal() { monitor.work_with(nullptr); }
    };

    template <class Ask>
    bool with_python(const Ask& ask);

    nb::object on_report_;
    nb::object stop_object_;
    StopFlag* stop_;
    std::exception_ptr failure_;
    std::unique_ptr<Monitor> monitor_;
    std::size_t threads_;
    std::int64_t epochs_ = 0;
};

}  // namespace maxmargin
