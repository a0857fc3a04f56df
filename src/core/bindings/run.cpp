#include "bindings/run.hpp"

#include <nanobind/ndarray.h>

#include <functional>
#include <utility>
#include <vector>

#include "bindings/arrays.hpp"
#include "run/random.hpp"

using namespace nanobind::literals;

namespace maxmargin {

template <class Ask>
bool PyRun::with_python(const Ask& ask) {
    if (failure_) {
        return true;
    }
    nb::gil_scoped_acquire locked;
    try {
        return ask();
    } catch (...) {
        failure_ = std::current_exception();
        return true;
    }
}

PyRun::PyRun(double time_limit, nb::object on_report, nb::object stop, double report_passes, double report_seconds,
             bool with_weights, std::size_t threads)
    : on_report_(std::move(on_report)),
      stop_object_(std::move(stop)),
      stop_(nb::cast<StopFlag*>(stop_object_)),
      threads_(threads) {
    auto interrupted = [this] {
        return stop_->value.load(std::memory_order_relaxed) || with_python([] {
                   if (PyErr_CheckSignals() != 0) {
                       throw nb::python_error();
                   }
                   return false;
               });
    };
    std::function<bool(const Report&)> report;
    if (!on_report_.is_none()) {
        report = [this, with_weights](const Report& r) {
            return with_python([&] {
                nb::object weights = nb::none();
                if (with_weights) {
                    const Array best(const_cast<double*>(r.weights.data()), {r.weights.size()}, nb::handle());
                    weights = nb::cast(best, nb::rv_policy::copy);
                }
                return nb::cast<bool>(
                    on_report_(r.epoch, r.seconds, r.check_seconds, r.primal, r.dual, r.gap, r.active, weights));
            });
        };
    }
    monitor_ = std::make_unique<Monitor>(time_limit, report, interrupted, report_passes, report_seconds, with_weights);
}

void bind_run(nb::module_& m) {
    nb::class_<StopFlag>(m, "StopFlag")
        .def(nb::init<>())
        .def("set", [](StopFlag& flag) { flag.value = true; })
        .def("is_set", [](const StopFlag& flag) { return flag.value.load(); });

    nb::enum_<Exit>(m, "Exit")
        .value("CONVERGED", Exit::converged)
        .value("MAX_ITER", Exit::max_iter)
        .value("TIME_LIMIT", Exit::time_limit)
        .value("STOPPED", Exit::stopped)
        .value("BUDGET", Exit::budget)
        .value("EPSILON", Exit::epsilon);

    nb::class_<Limits>(m, "Limits")
        .def(
            "__init__",
            [](Limits* self, double tol, std::int64_t max_iter, std::uint64_t seed, double max_passes, double worth,
               double patience) { new (self) Limits{tol, max_iter, max_passes, worth, patience, seed}; },
            "tol"_a, "max_iter"_a, "seed"_a, "max_passes"_a, "worth"_a, "patience"_a);

    m.def(
        "sample",
        [](const Vector<std::int64_t>& numbers, std::uint64_t one_in) {
            std::vector<double> taken(numbers.size());
            for (std::size_t i = 0; i < taken.size(); ++i) {
                taken[i] = is_sampled(static_cast<std::uint64_t>(numbers(i)), one_in) ? 1.0 : 0.0;
            }
            return to_numpy(std::move(taken));
        },
        "numbers"_a, "one_in"_a);

    nb::class_<PyRun>(m, "Run")
        .def(nb::init<double, nb::object, nb::object, double, double, bool, std::size_t>(), "time_limit"_a,
             "on_report"_a.none(), "stop"_a, "report_passes"_a, "report_seconds"_a, "with_weights"_a, "threads"_a = 1)
        .def("reserve", &PyRun::reserve, "seconds"_a)
        .def_prop_ro("epochs", &PyRun::epochs)
        .def_prop_ro("check_seconds", &PyRun::check_seconds);
}

}  // namespace maxmargin
