#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "binary/dual_sweep.hpp"
#include "binary/fold_newton.hpp"
#include "binary/joint_descent.hpp"
#include "binary/methods.hpp"
#include "binary/orders.hpp"
#include "binary/sweep.hpp"
#include "bindings/arrays.hpp"
#include "bindings/run.hpp"
#include "cutting_plane/methods.hpp"

using namespace nanobind::literals;

namespace maxmargin {
namespace {

void make_binary_state(BinaryState* self, const PyRows& x, const StridedVector<std::int8_t>& signs,
                       const std::optional<StridedVector<double>>& targets, const StridedVector<double>& C,
                       const Loss& loss, double bias, bool free_bias, double bias_slope) {
    const std::size_t size = x.rows.size();
    if (signs.shape(0) != size || C.shape(0) != size || (targets && targets->shape(0) != size)) {
        throw std::invalid_argument("signs, targets and C must have one entry per row of X");
    }
    nb::gil_scoped_release unlocked;
    new (self) BinaryState(x.rows, loss, {bias, free_bias, bias_slope}, [&](std::size_t i) {
        if (!(C(i) >= 0.0) || C(i) == infinity) {
            throw std::invalid_argument("C must be finite and not negative in every row");
        }
        return BinaryRow{C(i), static_cast<double>(signs(i)), targets ? (*targets)(i) : 1.0};
    });
}

void start_binary(BinaryState& state, const std::optional<Vector<double>>& alpha,
                  const std::optional<Vector<double>>& weights, std::optional<double> primal,
                  std::optional<double> dual, double error) {
    if ((alpha && alpha->size() != state.rows().size()) ||
        (weights && weights->size() != state.rows().features() + 1)) {
        throw std::invalid_argument("alpha must have one entry per row, weights one per feature and one for the bias");
    }
    nb::gil_scoped_release unlocked;
    std::optional<KnownValues> values;
    if (primal && dual) {
        values = KnownValues{*primal, *dual, error};
    }
    state.start(span_of(alpha), span_of(weights), values);
}

nb::tuple py_sweep(BinaryState& state, const Vector<double>& alpha, const Vector<double>& weights,
                   const Vector<std::uint32_t>& schedule, double scale, double anchored) {
    std::vector<double> alphas(alpha.data(), alpha.data() + alpha.size());
    std::vector<double> w(weights.data(), weights.data() + weights.size());
    SweepResult result;
    {
        nb::gil_scoped_release unlocked;
        result = dual_sweep(state, {schedule.data(), schedule.size()}, scale, anchored, alphas, w);
    }
    return nb::make_tuple(to_numpy(std::move(alphas)), to_numpy(std::move(w)), result.gain, result.gap, result.work);
}

nb::tuple py_local_sweeps(BinaryState& state, const WritableVector<double>& alpha,
                          const WritableVector<double>& weights, const WritableVector<bool>& moving, std::size_t more,
                          double anchored, std::uint64_t seed) {
    LocalResult result;
    {
        nb::gil_scoped_release unlocked;
        result = local_sweeps(state, {more, anchored, seed}, {alpha.data(), alpha.size()},
                              {weights.data(), weights.size()}, {moving.data(), moving.size()});
    }
    return nb::make_tuple(result.gain, result.gap, result.steps);
}

// A stage that several problems share.
template <class Method>
std::vector<Exit> solve_together(const std::vector<BinaryState*>& states, const std::vector<PyRun*>& runs,
                                 const Method& method) {
    if (states.empty() || states.size() != runs.size()) {
        throw std::invalid_argument("problems that are solved together need a run for each state");
    }
    std::vector<JointProblem> problems;
    for (std::size_t m = 0; m < states.size(); ++m) {
        problems.push_back({*states[m], runs[m]->monitor()});
    }
    std::vector<Outcome> outcomes;
    {
        nb::gil_scoped_release unlocked;
        outcomes = method(problems);
    }
    std::vector<Exit> exits;
    for (std::size_t m = 0; m < states.size(); ++m) {
        runs[m]->end_stage(outcomes[m]);
        exits.push_back(outcomes[m].exit);
    }
    return exits;
}

std::vector<Exit> py_joint_descent(const std::vector<BinaryState*>& states, bool pack, const Limits& limits,
                                   const std::vector<PyRun*>& runs) {
    return solve_together(
        states, runs, [&](std::span<const JointProblem> problems) { return joint_descent(problems, pack, limits); });
}

std::vector<Exit> py_fold_newton(FoldNewton& self, const std::vector<BinaryState*>& states, const Limits& limits,
                                 const std::vector<PyRun*>& runs, std::size_t threads) {
    return solve_together(states, runs, [&](std::span<const JointProblem> problems) {
        std::optional<Team> team;
        if (threads > 1) {
            problems[0].monitor.work_with(&team.emplace(threads));
        }
        std::vector<Outcome> outcomes = self.solve(problems, limits);
        problems[0].monitor.work_with(nullptr);
        return outcomes;
    });
}

}  // namespace

void bind_binary(nb::module_& m) {
    nb::class_<Loss>(m, "Loss").def(
        "__init__",
        [](Loss* self, double lower_per_C, double upper_per_C, double diagonal_times_C, double epsilon) {
            new (self) Loss{lower_per_C, upper_per_C, diagonal_times_C, epsilon};
        },
        "lower_per_C"_a, "upper_per_C"_a, "diagonal_times_C"_a, "epsilon"_a = 0.0);

    nb::class_<BinaryState>(m, "BinaryState")
        .def("__init__", &make_binary_state, nb::keep_alive<1, 2>(), "rows"_a, "signs"_a, "targets"_a.none(), "C"_a,
             "loss"_a, "bias"_a, "free_bias"_a, "bias_slope"_a = 0.0)
        .def("start", &start_binary, "alpha"_a.none(), "weights"_a.none(), "primal"_a = nb::none(),
             "dual"_a = nb::none(), "error"_a = 0.0)
        .def(
            "verify", [](BinaryState& state) { state.verify(); }, nb::call_guard<nb::gil_scoped_release>())
        .def_prop_ro("primal", [](const BinaryState& state) { return state.bounds.primal(); })
        .def_prop_ro("dual", [](const BinaryState& state) { return state.bounds.dual(); })
        .def_ro("parts", &BinaryState::parts)
        .def("weights", [](const BinaryState& state) { return to_numpy(std::vector(state.bounds.weights())); })
        .def("alpha", [](const BinaryState& state) { return to_numpy(std::vector(state.bounds.variables())); });

    nb::enum_<OrderName>(m, "Order")
        .value("CYCLIC", OrderName::cyclic)
        .value("PERMUTED", OrderName::permuted)
        .value("SHUFFLED", OrderName::shuffled)
        .value("UNIFORM", OrderName::uniform)
        .value("ADAPTIVE", OrderName::adaptive);
    nb::class_<DescentOptions>(m, "DescentOptions")
        .def(
            "__init__",
            [](DescentOptions* self, OrderName order, bool shrinking, bool resting, bool averaging, bool anchoring,
               bool plane, bool pack, std::size_t parts, double epsilon) {
                new (self) DescentOptions{order, shrinking, resting, averaging, anchoring, plane, pack, parts, epsilon};
            },
            "order"_a, "shrinking"_a, "resting"_a, "averaging"_a, "anchoring"_a, "plane"_a, "pack"_a, "parts"_a,
            "epsilon"_a);
    nb::class_<PegasosOptions>(m, "PegasosOptions")
        .def(
            "__init__",
            [](PegasosOptions* self, bool averaging, bool projection) {
                new (self) PegasosOptions{averaging, projection};
            },
            "averaging"_a, "projection"_a);

    m.def(
        "dual_coordinate_descent",
        [](BinaryState& state, const DescentOptions& options, const Limits& limits, PyRun& run) {
            return run.stage(
                [&](Monitor& monitor) { return dual_coordinate_descent(state, options, limits, monitor); });
        },
        "state"_a, "options"_a, "limits"_a, "run"_a);
    m.def(
        "newton",
        [](BinaryState& state, const Limits& limits, PyRun& run) {
            return run.stage([&](Monitor& monitor) { return newton(state, limits, monitor); });
        },
        "state"_a, "limits"_a, "run"_a);
    m.def(
        "primal_coordinate_descent",
        [](BinaryState& state, bool plane, const Limits& limits, PyRun& run) {
            return run.stage(
                [&](Monitor& monitor) { return primal_coordinate_descent(state, plane, limits, monitor); });
        },
        "state"_a, "plane"_a, "limits"_a, "run"_a);
    m.def(
        "pegasos",
        [](BinaryState& state, const PegasosOptions& options, const Limits& limits, PyRun& run) {
            return run.stage([&](Monitor& monitor) { return pegasos(state, options, limits, monitor); });
        },
        "state"_a, "options"_a, "limits"_a, "run"_a);
    m.def(
        "cut_hinge",
        [](BinaryState& state, const CuttingOptions& options, const Limits& limits, PyRun& run) {
            return run.stage([&](Monitor& monitor) { return cut_hinge(state, options, limits, monitor); });
        },
        "state"_a, "options"_a, "limits"_a, "run"_a);
    m.def("joint_descent", &py_joint_descent, "states"_a, "pack"_a, "limits"_a, "runs"_a);
    nb::class_<FoldNewton>(m, "FoldNewton")
        .def(
            "__init__", [](FoldNewton* self, const PyRows& x) { new (self) FoldNewton(x.rows); },
            nb::keep_alive<1, 2>(), "rows"_a)
        .def("start", &FoldNewton::start, "weights"_a)
        .def("solve", &py_fold_newton, "states"_a, "limits"_a, "runs"_a, "threads"_a = 1);
    m.def("dual_sweep", &py_sweep, "state"_a, "alpha"_a, "weights"_a, "schedule"_a, "scale"_a, "anchored"_a = 0.0);
    m.def("local_sweeps", &py_local_sweeps, "state"_a, "alpha"_a.noconvert(), "weights"_a.noconvert(),
          "moving"_a.noconvert(), "more"_a, "anchored"_a, "seed"_a);
}

}  // namespace maxmargin
