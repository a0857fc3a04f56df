#include <nanobind/stl/optional.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/run.hpp"
#include "cutting_plane/methods.hpp"

using namespace nanobind::literals;

namespace maxmargin {
namespace {

struct PyPairs {
    RankedPairs pairs;
    std::size_t size;  // rows, with and without pairs

    void check(std::size_t rows) const {
        if (rows != size) {
            throw std::invalid_argument("there are labels for " + std::to_string(size) + " rows, not for " +
                                        std::to_string(rows));
        }
    }

    // In the order of the pairs' own rows.
    std::vector<double> own(const double* scores) const {
        std::vector<double> result;
        result.reserve(pairs.rows().size());
        for (const RowIndex i : pairs.rows()) {
            result.push_back(scores[i]);
        }
        return result;
    }
};

template <class T>
std::span<const T> one_per_row(const std::optional<Vector<T>>& values, std::size_t size) {
    if (values && values->size() != size) {
        throw std::invalid_argument("labels, groups and weights must have one entry per row");
    }
    return span_of(values);
}

void make_pairs(PyPairs* self, const Vector<double>& labels, const std::optional<Vector<std::int64_t>>& groups,
                const std::optional<Vector<double>>& weights) {
    const std::size_t size = labels.size();
    nb::gil_scoped_release unlocked;
    new (self) PyPairs{RankedPairs({labels.data(), size}, one_per_row(groups, size), one_per_row(weights, size)), size};
}

nb::tuple py_violated(PyPairs& ranked, const Vector<double>& scores) {
    ranked.check(scores.size());
    const std::vector<double> own = ranked.own(scores.data());
    std::vector<double> coefficients(own.size()), all(ranked.size);
    const double sum = ranked.pairs.violated(own.data(), 1.0, coefficients.data());
    for (std::size_t p = 0; p < own.size(); ++p) {
        all[ranked.pairs.rows()[p]] = coefficients[p];
    }
    return nb::make_tuple(sum, to_numpy(std::move(all)));
}

nb::tuple py_count(const PyPairs& ranked, const Vector<double>& scores) {
    ranked.check(scores.size());
    const std::size_t groups = ranked.pairs.groups();
    std::vector<double> ids(groups), all(groups), swapped(groups), tied(groups);
    {
        nb::gil_scoped_release unlocked;
        const std::vector<double> own = ranked.own(scores.data());
        for (std::size_t g = 0; g < groups; ++g) {
            const PairCounts counts = ranked.pairs.count(g, own.data());
            ids[g] = static_cast<double>(ranked.pairs.id(g));
            all[g] = counts.all;
            swapped[g] = counts.swapped;
            tied[g] = counts.tied;
        }
    }
    return nb::make_tuple(to_numpy(std::move(ids)), to_numpy(std::move(all)), to_numpy(std::move(swapped)),
                          to_numpy(std::move(tied)));
}

void make_ranking_state(RankingState* self, const PyRows& x, const PyPairs& ranked, double C,
                        const std::optional<Matrix<double>>& points) {
    ranked.check(x.rows.size());
    if (points && points->shape(1) != x.rows.features() + 1) {
        throw std::invalid_argument("points must have one column per feature and one for the bias");
    }
    new (self) RankingState(x.rows, ranked.pairs, C);
    if (points) {
        self->points.assign(points->data(), points->data() + points->size());
    }
}

}  // namespace

void bind_ranking(nb::module_& m) {
    nb::class_<PyPairs>(m, "Pairs")
        .def("__init__", &make_pairs, "labels"_a, "groups"_a.none(), "weights"_a.none())
        .def("total", [](const PyPairs& ranked) { return ranked.pairs.total(); })
        .def("violated", &py_violated, "scores"_a)
        .def("count", &py_count, "scores"_a);

    nb::class_<RankingState>(m, "RankingState")
        .def("__init__", &make_ranking_state, nb::keep_alive<1, 2>(), "rows"_a, "pairs"_a, "C"_a, "points"_a.none())
        .def("verify", [](RankingState& state) { state.verify(); })
        .def_prop_ro("primal", [](const RankingState& state) { return state.bounds.primal(); })
        .def_prop_ro("dual", [](const RankingState& state) { return state.bounds.dual(); })
        .def("weights", [](const RankingState& state) { return to_numpy(std::vector(state.bounds.weights())); })
        .def("alpha",
             [](const RankingState& state) { return to_numpy(std::vector(state.bounds.variables().coefficients)); })
        .def("points", [](const RankingState& state) { return to_numpy(std::vector(state.points)); })
        .def(
            "set_points",
            [](RankingState& state, const Vector<double>& points) {
                state.points.assign(points.data(), points.data() + points.size());
            },
            "points"_a);

    nb::class_<CuttingOptions>(m, "CuttingOptions")
        .def(
            "__init__",
            [](CuttingOptions* self, bool acceleration, bool keep_cuts, double epsilon) {
                new (self) CuttingOptions{acceleration, keep_cuts, epsilon};
            },
            "acceleration"_a, "keep_cuts"_a, "epsilon"_a);
    m.def(
        "cut_pairs",
        [](RankingState& state, const CuttingOptions& options, const Limits& limits, PyRun& run) {
            return run.stage([&](Monitor& monitor) { return cut_pairs(state, options, limits, monitor); });
        },
        "state"_a, "options"_a, "limits"_a, "run"_a);
}

}  // namespace maxmargin
