#include <nanobind/stl/optional.h>

#include <cstdint>
#include <stdexcept>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/run.hpp"
#include "cutting_plane/measure_state.hpp"

using namespace nanobind::literals;

namespace maxmargin {
namespace {

void make_measure_state(MeasureState* self, const PyRows& x, Measure measure, const StridedVector<std::int8_t>& signs,
                        double C, std::size_t k, double bias, const std::optional<Matrix<double>>& points) {
    if (signs.shape(0) != x.rows.size() || (points && points->shape(1) != x.rows.features() + 1)) {
        throw std::invalid_argument("signs must have one entry per row, points one column per feature and the bias");
    }
    std::vector<signed char> sides(signs.shape(0));
    std::size_t positives = 0, negatives = 0;
    for (std::size_t i = 0; i < sides.size(); ++i) {
        sides[i] = signs(i);
        positives += sides[i] > 0 ? 1 : 0;
        negatives += sides[i] < 0 ? 1 : 0;
    }
    if (positives == 0 || negatives == 0 || k == 0 || k > positives + negatives) {
        throw std::invalid_argument("a measure needs rows of both signs, and k from 1 to the number of rows");
    }
    new (self) MeasureState(x.rows, MeasureRisk(measure, sides, C, k), bias);
    if (points) {
        self->points.assign(points->data(), points->data() + points->size());
    }
}

}  // namespace

void bind_measure(nb::module_& m) {
    nb::enum_<Measure>(m, "Measure")
        .value("ERROR_RATE", Measure::error_rate)
        .value("F1", Measure::f1)
        .value("PRECISION_AT_K", Measure::precision_at_k)
        .value("RECALL_AT_K", Measure::recall_at_k)
        .value("ROC_AREA", Measure::roc_area);
    nb::class_<MeasureState>(m, "MeasureState")
        .def("__init__", &make_measure_state, nb::keep_alive<1, 2>(), "rows"_a, "measure"_a, "signs"_a, "C"_a, "k"_a,
             "bias"_a, "points"_a.none())
        .def("verify", [](MeasureState& state) { state.verify(); })
        .def_prop_ro("primal", [](const MeasureState& state) { return state.bounds.primal(); })
        .def_prop_ro("dual", [](const MeasureState& state) { return state.bounds.dual(); })
        .def("weights", [](const MeasureState& state) { return to_numpy(std::vector(state.bounds.weights())); })
        .def("alpha",
             [](const MeasureState& state) { return to_numpy(std::vector(state.bounds.variables().coefficients)); })
        .def("points", [](const MeasureState& state) { return to_numpy(std::vector(state.points)); });
    m.def(
        "cut_measure",
        [](MeasureState& state, const CuttingOptions& options, const Limits& limits, PyRun& run) {
            return run.stage([&](Monitor& monitor) { return cut_measure(state, options, limits, monitor); });
        },
        "state"_a, "options"_a, "limits"_a, "run"_a);
}

}  // namespace maxmargin
