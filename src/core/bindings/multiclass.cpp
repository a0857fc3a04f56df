#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/run.hpp"
#include "cutting_plane/methods.hpp"
#include "multiclass/methods.hpp"
#include "multiclass/signed_variables.hpp"
#include "multiclass/sweep.hpp"

using namespace nanobind::literals;

namespace maxmargin {
namespace {

// The dual variables, rows times classes, as the three arrays of a CSR matrix.
using Lists = std::tuple<Vector<double>, Vector<std::int32_t>, Vector<std::int64_t>>;

void make_multiclass_state(MulticlassState* self, const PyRows& x, const Vector<std::int32_t>& labels,
                           const StridedVector<double>& C, Formulation formulation, std::size_t classes, double bias) {
    const std::size_t size = x.rows.size();
    if (labels.size() != size || C.shape(0) != size) {
        throw std::invalid_argument("labels and C must have one entry per row of X");
    }
    nb::gil_scoped_release unlocked;
    auto checked_C = [&](std::size_t i) {
        if (!(C(i) >= 0.0) || C(i) == infinity) {
            throw std::invalid_argument("C must be finite and not negative in every row");
        }
        return C(i);
    };
    auto checked_label = [&](std::size_t i) {
        const auto label = static_cast<std::uint32_t>(labels(i));
        if (label >= classes) {
            throw std::invalid_argument("labels must be numbers of classes in every row");
        }
        return label;
    };
    new (self) MulticlassState(x.rows, formulation, classes, bias, checked_C, checked_label);
}

void check_lists(const MulticlassState& state, const Lists& alpha) {
    const auto& [values, which, starts] = alpha;
    if (starts.size() != state.rows().size() + 1) {
        throw std::invalid_argument("alpha must have one row per row of X");
    }
    check_csr(which.data(), std::min(values.size(), which.size()), starts.data(), state.rows().size(), state.classes);
}

void start_multiclass(MulticlassState& state, const std::optional<Lists>& alpha,
                      const std::optional<Vector<double>>& weights) {
    if (weights && weights->size() != (state.rows().features() + 1) * class_width(state.classes)) {
        throw std::invalid_argument(
            "weights must lie feature by feature, a whole number of blocks of classes for each");
    }
    nb::gil_scoped_release unlocked;
    if (!alpha) {
        state.start({}, {}, {}, span_of(weights));
        return;
    }
    check_lists(state, *alpha);
    const auto& [values, which, starts] = *alpha;
    state.start({values.data(), values.size()}, {which.data(), which.size()}, {starts.data(), starts.size()},
                span_of(weights));
}

void assign(MulticlassState& state, const Lists& alpha) {
    check_lists(state, alpha);
    const auto& [values, which, starts] = alpha;
    nb::gil_scoped_release unlocked;
    state.assign({values.data(), values.size()}, {which.data(), which.size()}, {starts.data(), starts.size()});
}

nb::tuple py_class_sweep(MulticlassState& state, const Vector<double>& weights, const Vector<std::uint32_t>& schedule,
                         bool listed) {
    std::vector<double> w(weights.data(), weights.data() + weights.size());
    ClassSweepResult result;
    {
        nb::gil_scoped_release unlocked;
        result = class_sweep(state, {schedule.data(), schedule.size()}, listed, w);
    }
    return nb::make_tuple(to_numpy(std::move(w)), result.gain, result.gap);
}

nb::tuple lists_of(const MulticlassVariables& variables) {
    std::vector<double> values;
    std::vector<std::int32_t> which;
    std::vector<std::int64_t> starts{0};
    for (std::size_t i = 0; i < variables.rows.size(); ++i) {
        for (const ClassValue& v : variables.list(i)) {
            values.push_back(v.value);
            which.push_back(static_cast<std::int32_t>(v.which));
        }
        starts.push_back(static_cast<std::int64_t>(values.size()));
    }
    return nb::make_tuple(to_numpy(std::move(values)), to_numpy(std::move(which)), to_numpy(std::move(starts)));
}

nb::tuple py_signed_variables(const Lists& alpha, const Vector<std::int32_t>& labels, std::size_t classes) {
    const auto& [values, which, starts] = alpha;
    if (starts.size() != labels.size() + 1) {
        throw std::invalid_argument("alpha must have one row per label");
    }
    const std::size_t stored = std::min(values.size(), which.size());
    check_csr(which.data(), stored, starts.data(), labels.size(), classes);
    if (labels.size() > std::numeric_limits<std::int32_t>::max()) {
        throw std::invalid_argument("at most 2147483647 rows are supported for several classes at once");
    }
    if (labels.size() > 0 && largest_index(labels.data(), labels.size()) >= classes) {
        throw std::invalid_argument("labels must be numbers of classes in every row");
    }
    SignedVariables found = signed_variables({values.data(), stored}, {which.data(), stored},
                                             {starts.data(), starts.size()}, {labels.data(), labels.size()}, classes);
    return nb::make_tuple(to_numpy(std::move(found.values)), to_numpy(std::move(found.rows)),
                          to_numpy(std::move(found.starts)));
}

}  // namespace

void bind_multiclass(nb::module_& m) {
    nb::enum_<Formulation>(m, "Formulation")
        .value("CRAMMER_SINGER", Formulation::crammer_singer)
        .value("WESTON_WATKINS", Formulation::weston_watkins);

    nb::class_<MulticlassState>(m, "MulticlassState")
        .def("__init__", &make_multiclass_state, nb::keep_alive<1, 2>(), "rows"_a, "labels"_a, "C"_a, "formulation"_a,
             "classes"_a, "bias"_a)
        .def("start", &start_multiclass, "alpha"_a.none(), "weights"_a.none())
        .def(
            "verify", [](MulticlassState& state) { state.verify(); }, nb::call_guard<nb::gil_scoped_release>())
        .def_prop_ro("primal", [](const MulticlassState& state) { return state.bounds.primal(); })
        .def_prop_ro("dual", [](const MulticlassState& state) { return state.bounds.dual(); })
        .def("weights", [](const MulticlassState& state) { return to_numpy(std::vector(state.bounds.weights())); })
        .def("alpha", [](const MulticlassState& state) { return lists_of(state.bounds.variables()); })
        .def("assign", &assign, "alpha"_a)
        .def("variables", [](const MulticlassState& state) { return lists_of(state.variables); })
        .def("sums", [](MulticlassState& state) { return to_numpy(state.sums()); });
    m.def("class_sweep", &py_class_sweep, "state"_a, "weights"_a, "schedule"_a, "listed"_a);

    m.def("signed_variables", &py_signed_variables, "alpha"_a, "labels"_a, "classes"_a);

    nb::class_<SequentialDualOptions>(m, "SequentialDualOptions")
        .def(
            "__init__",
            [](SequentialDualOptions* self, bool adaptive, bool shrinking, double most_effort, double little_gain) {
                new (self) SequentialDualOptions{adaptive, shrinking, most_effort, little_gain};
            },
            "adaptive"_a, "shrinking"_a, "most_effort"_a, "little_gain"_a);

    m.def(
        "sequential_dual_method",
        [](MulticlassState& state, const SequentialDualOptions& options, const Limits& limits, PyRun& run) {
            return run.stage([&](Monitor& monitor) { return sequential_dual_method(state, options, limits, monitor); });
        },
        "state"_a, "options"_a, "limits"_a, "run"_a);
    m.def(
        "exponentiated_gradient",
        [](MulticlassState& state, const Limits& limits, PyRun& run) {
            return run.stage([&](Monitor& monitor) { return exponentiated_gradient(state, limits, monitor); });
        },
        "state"_a, "limits"_a, "run"_a);
    m.def(
        "multiclass_newton",
        [](MulticlassState& state, const Limits& limits, PyRun& run) {
            return run.stage([&](Monitor& monitor) { return multiclass_newton(state, limits, monitor); });
        },
        "state"_a, "limits"_a, "run"_a);
    m.def(
        "cut_classes",
        [](MulticlassState& state, const CuttingOptions& options, const Limits& limits, PyRun& run) {
            return run.stage([&](Monitor& monitor) { return cut_classes(state, options, limits, monitor); });
        },
        "state"_a, "options"_a, "limits"_a, "run"_a);
}

}  // namespace maxmargin
