#include <nanobind/stl/optional.h>

#include <cstdint>
#include <stdexcept>
#include <vector>

#include "binary/l1_state.hpp"
#include "binary/l1_working_sets.hpp"
#include "bindings/arrays.hpp"
#include "bindings/run.hpp"

using namespace nanobind::literals;

namespace maxmargin {
namespace {

void make_l1_state(L1State* self, const PyRows& x, const StridedVector<std::int8_t>& signs,
                   const StridedVector<double>& C, const Loss& loss, double bias, bool free_bias) {
    const std::size_t size = x.rows.size();
    if (signs.shape(0) != size || C.shape(0) != size) {
        throw std::invalid_argument("signs and C must have one entry per row of X");
    }
    nb::gil_scoped_release unlocked;
    new (self) L1State(x.rows, loss, {bias, free_bias}, [&](std::size_t i) {
        if (!(C(i) >= 0.0) || C(i) == infinity) {
            throw std::invalid_argument("C must be finite and not negative in every row");
        }
        return BinaryRow{C(i), static_cast<double>(signs(i)), 1.0};
    });
}

void start_l1(L1State& state, const std::optional<Vector<double>>& alpha,
              const std::optional<Vector<double>>& weights) {
    if ((alpha && alpha->size() != state.rows().size()) ||
        (weights && weights->size() != state.rows().features() + 1)) {
        throw std::invalid_argument("alpha must have one entry per row, weights one per feature and one for the bias");
    }
    nb::gil_scoped_release unlocked;
    state.start(span_of(alpha), span_of(weights));
}

}  // namespace

void bind_l1(nb::module_& m) {
    nb::class_<L1State>(m, "L1State")
        .def("__init__", &make_l1_state, nb::keep_alive<1, 2>(), "rows"_a, "signs"_a, "C"_a, "loss"_a, "bias"_a,
             "free_bias"_a)
        .def("start", &start_l1, "alpha"_a.none(), "weights"_a.none())
        .def(
            "verify", [](L1State& state) { state.verify(); }, nb::call_guard<nb::gil_scoped_release>())
        .def_prop_ro("primal", [](const L1State& state) { return state.bounds.primal(); })
        .def_prop_ro("dual", [](const L1State& state) { return state.bounds.dual(); })
        .def("weights", [](const L1State& state) { return to_numpy(std::vector(state.bounds.weights())); })
        .def("alpha", [](const L1State& state) { return to_numpy(std::vector(state.bounds.variables())); });
    nb::class_<WorkingSetOptions>(m, "WorkingSetOptions")
        .def(
            "__init__", [](WorkingSetOptions* self, bool screening) { new (self) WorkingSetOptions{screening}; },
            "screening"_a);
    m.def(
        "working_sets",
        [](L1State& state, const WorkingSetOptions& options, const Limits& limits, PyRun& run) {
            return run.stage([&](Monitor& monitor) { return working_sets(state, options, limits, monitor); });
        },
        "state"_a, "options"_a, "limits"_a, "run"_a);
}

}  // namespace maxmargin
