#include <nanobind/stl/optional.h>

#include <cstdint>
#include <stdexcept>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/run.hpp"
#include "one_class/state.hpp"

using namespace nanobind::literals;

namespace maxmargin {
namespace {

void make_one_class_state(OneClassState* self, const PyRows& x, const StridedVector<double>& C, double slope) {
    const std::size_t size = x.rows.size();
    if (C.shape(0) != size) {
        throw std::invalid_argument("C must have one entry per row of X");
    }
    if (C.stride(0) == 0) {
        new (self) OneClassState(x.rows, RowWeights(C(0)), slope);
        return;
    }
    std::vector<double> own(size);
    for (std::size_t i = 0; i < size; ++i) {
        own[i] = C(i);
        if (!(own[i] >= 0.0) || own[i] == infinity) {
            throw std::invalid_argument("C must be finite and not negative in every row");
        }
    }
    new (self) OneClassState(x.rows, RowWeights(std::move(own)), slope);
}

void start_one_class(OneClassState& state, const std::optional<Vector<double>>& alpha,
                     const std::optional<Vector<double>>& weights) {
    if ((alpha && alpha->size() != state.rows().size()) ||
        (weights && weights->size() != state.rows().features() + 1)) {
        throw std::invalid_argument("alpha must have one entry per row, weights one per feature and one for the bias");
    }
    nb::gil_scoped_release unlocked;
    state.start(span_of(alpha), span_of(weights));
}

}  // namespace

void bind_one_class(nb::module_& m) {
    nb::class_<OneClassState>(m, "OneClassState")
        .def("__init__", &make_one_class_state, nb::keep_alive<1, 2>(), "rows"_a, "C"_a, "slope"_a)
        .def("start", &start_one_class, "alpha"_a.none(), "weights"_a.none())
        .def(
            "verify", [](OneClassState& state) { state.verify(); }, nb::call_guard<nb::gil_scoped_release>())
        .def_prop_ro("primal", [](const OneClassState& state) { return state.bounds.primal(); })
        .def_prop_ro("dual", [](const OneClassState& state) { return state.bounds.dual(); })
        .def("weights", [](const OneClassState& state) { return to_numpy(std::vector(state.bounds.weights())); })
        .def("alpha", [](const OneClassState& state) { return to_numpy(state.alpha()); });
    m.def(
        "active_set",
        [](OneClassState& state, const Limits& limits, PyRun& run) {
            return run.stage([&](Monitor& monitor) { return active_set(state, limits, monitor); });
        },
        "state"_a, "limits"_a, "run"_a);
}

}  // namespace maxmargin
