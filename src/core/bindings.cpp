// Python's view of the core: arrays in, arrays out. The only file here that knows of Python objects.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include "any_rows.hpp"
#include "monitor.hpp"
#include "solvers.hpp"
#include "text_bindings.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace maxmargin {
namespace {

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
// Read element by element, so that a broadcast scalar needs no memory.
template <class T>
using StridedVector = nb::ndarray<const T, nb::ndim<1>, nb::device::cpu>;
using Array = nb::ndarray<nb::numpy, double, nb::ndim<1>>;
using DualOfLoss = std::tuple<double, double, double>;
using ValueAndFree = std::tuple<double, bool>;

Array to_numpy(std::vector<double>&& values) {
    auto* owned = new std::vector<double>(std::move(values));
    nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<double>*>(p); });
    return Array(owned->data(), {owned->size()}, owner);
}

// The handles keep the arrays alive as long as the rows that look into them.
struct PyRows {
    AnyRows rows;
    std::vector<nb::object> arrays;
};

AnyRows checked(const std::function<AnyRows()>& make) {
    nb::gil_scoped_release unlocked;
    return make();
}

template <class Value, class Index, class Pointer>
PyRows csr_rows(const Vector<Value>& values, const Vector<Index>& indices, const Vector<Pointer>& starts,
                std::size_t features) {
    if (starts.size() == 0) {
        throw std::invalid_argument("the row pointers (indptr) of X are empty");
    }
    const std::size_t rows = starts.size() - 1;
    const std::size_t stored = std::min(values.size(), indices.size());
    AnyRows any = checked([&] {
        check_csr(indices.data(), stored, starts.data(), rows, features);
        return AnyRows(CsrRows<Value, Index, Pointer>(values.data(), indices.data(), starts.data(), rows, features));
    });
    return {std::move(any), {nb::cast(values), nb::cast(indices), nb::cast(starts)}};
}

template <class Value>
PyRows dense_rows(const Matrix<Value>& values) {
    AnyRows any = checked([&] { return AnyRows(DenseRows<Value>(values.data(), values.shape(0), values.shape(1))); });
    return {std::move(any), {nb::cast(values)}};
}

// Set from one thread to end solvers running in others.
struct StopFlag {
    std::atomic<bool> value{false};
};

std::vector<Variable> make_variables(const AnyRows& rows, const StridedVector<std::int8_t>& y,
                                     const StridedVector<double>& C, const std::optional<StridedVector<double>>& alpha,
                                     const Loss& loss) {
    const std::size_t size = rows.size();
    if (y.shape(0) != size || C.shape(0) != size || (alpha && alpha->shape(0) != size)) {
        throw std::invalid_argument("y, C and alpha must have one entry per row of X");
    }
    std::vector<Variable> variables(size);
    for (std::size_t i = 0; i < size; ++i) {
        const double weight = C(i);
        if (!(weight >= 0.0) || weight == infinity) {
            throw std::invalid_argument("C must be finite and not negative in every row");
        }
        Variable& v = variables[i];
        v.C = weight;
        v.y = y(i);
        if (weight > 0.0) {
            v.curvature = rows.squared_norms()[i] + loss.diagonal(weight);
            v.alpha = alpha ? std::clamp((*alpha)(i), loss.lower, loss.upper(weight)) : 0.0;
        }
    }
    return variables;
}

std::vector<double> alphas_of(const std::vector<Variable>& variables) {
    std::vector<double> alphas(variables.size());
    std::transform(variables.begin(), variables.end(), alphas.begin(), [](const Variable& v) { return v.alpha; });
    return alphas;
}

Loss make_loss(const DualOfLoss& dual) {
    return {std::get<0>(dual), std::get<1>(dual), std::get<2>(dual)};
}

Bias make_bias(const ValueAndFree& column) {
    return {std::get<0>(column), std::get<1>(column)};
}

// Runs a solver with the interpreter unlocked. Python code it calls back may raise: that ends the solver, then is
// raised here.
template <class Solver>
nb::tuple run(double time_limit, const nb::object& on_report, const StopFlag& stop, const Solver& solver) {
    std::exception_ptr failure;
    auto with_python = [&failure](const auto& ask) {
        if (failure) {
            return true;
        }
        nb::gil_scoped_acquire locked;
        try {
            return ask();
        } catch (...) {
            failure = std::current_exception();
            return true;
        }
    };
    auto interrupted = [&] {
        return stop.value.load(std::memory_order_relaxed) || with_python([] {
                   if (PyErr_CheckSignals() != 0) {
                       throw nb::python_error();
                   }
                   return false;
               });
    };
    std::function<bool(const Report&)> report;
    if (!on_report.is_none()) {
        report = [&](const Report& r) {
            return with_python([&] {
                const Array weights(const_cast<double*>(r.weights.data()), {r.weights.size()}, nb::handle());
                return nb::cast<bool>(on_report(r.epoch, r.seconds, r.primal, r.dual, r.gap, r.active,
                                                nb::cast(weights, nb::rv_policy::copy)));
            });
        };
    }
    std::vector<double> weights, alphas;
    Outcome outcome;
    {
        nb::gil_scoped_release unlocked;
        Monitor monitor(time_limit, report, interrupted);
        outcome = solver(monitor, weights, alphas);
    }
    if (failure) {
        std::rethrow_exception(failure);
    }
    return nb::make_tuple(to_numpy(std::move(weights)), to_numpy(std::move(alphas)), outcome.certificate.primal,
                          outcome.certificate.dual, outcome.epochs, outcome.exit, outcome.check_seconds);
}

nb::tuple py_descend(const PyRows& x, const StridedVector<std::int8_t>& y, const StridedVector<double>& C,
                     const DualOfLoss& dual_of_loss, const ValueAndFree& bias_column, OrderName order, bool shrinking,
                     const std::optional<StridedVector<double>>& alpha, double tol, std::int64_t max_iter,
                     double max_passes, double worth, double time_limit, std::uint64_t seed,
                     const nb::object& on_report, const StopFlag& stop) {
    return run(time_limit, on_report, stop, [&](Monitor& monitor, auto& weights, auto& alphas) {
        const Loss loss = make_loss(dual_of_loss);
        const Bias bias = make_bias(bias_column);
        std::vector<Variable> variables = make_variables(x.rows, y, C, alpha, loss);
        const Options options{order, shrinking, tol, max_iter, max_passes, seed, worth};
        const Outcome outcome = descend(x.rows, variables, loss, bias, options, monitor, weights);
        alphas = alphas_of(variables);
        return outcome;
    });
}

nb::tuple py_newton(const PyRows& x, const StridedVector<std::int8_t>& y, const StridedVector<double>& C,
                    const DualOfLoss& dual_of_loss, const ValueAndFree& bias_column,
                    const std::optional<StridedVector<double>>& alpha, double tol, std::int64_t max_iter,
                    double time_limit, const nb::object& on_report, const StopFlag& stop) {
    return run(time_limit, on_report, stop, [&](Monitor& monitor, auto& weights, auto& alphas) {
        const Loss loss = make_loss(dual_of_loss);
        const Bias bias = make_bias(bias_column);
        std::vector<Variable> variables = make_variables(x.rows, y, C, alpha, loss);
        const Outcome outcome = newton(x.rows, variables, loss, bias, tol, max_iter, monitor, weights);
        alphas = alphas_of(variables);
        return outcome;
    });
}

using PrimalSolver = Outcome (*)(const AnyRows&, std::span<Variable>, const Loss&, Bias, const PrimalOptions&, Monitor&,
                                 std::vector<double>&);

template <PrimalSolver solver>
nb::tuple py_primal(const PyRows& x, const StridedVector<std::int8_t>& y, const StridedVector<double>& C,
                    const DualOfLoss& dual_of_loss, const ValueAndFree& bias_column,
                    const std::optional<StridedVector<double>>& alpha, double tol, std::int64_t max_iter,
                    std::uint64_t seed, bool averaging, bool projection, double time_limit, const nb::object& on_report,
                    const StopFlag& stop) {
    return run(time_limit, on_report, stop, [&](Monitor& monitor, auto& weights, auto& alphas) {
        const Loss loss = make_loss(dual_of_loss);
        const Bias bias = make_bias(bias_column);
        std::vector<Variable> variables = make_variables(x.rows, y, C, alpha, loss);
        const PrimalOptions options{tol, max_iter, seed, averaging, projection};
        const Outcome outcome = solver(x.rows, variables, loss, bias, options, monitor, weights);
        alphas = alphas_of(variables);
        return outcome;
    });
}

nb::tuple py_cut(const PyRows& x, const StridedVector<std::int8_t>& y, const StridedVector<double>& C, double bias,
                 const std::optional<StridedVector<double>>& alpha, double tol, std::int64_t max_iter, bool accelerated,
                 double time_limit, const nb::object& on_report, const StopFlag& stop) {
    return run(time_limit, on_report, stop, [&](Monitor& monitor, auto& weights, auto& alphas) {
        const Loss hinge{0.0, 1.0, 0.0};
        std::vector<Variable> variables = make_variables(x.rows, y, C, alpha, hinge);
        HingeRisk risk(variables);
        CutStart start;
        std::vector<double> point, coefficients;
        if (alpha) {
            certify(x.rows, variables, hinge, {bias, false}, point);
            for (const Variable& v : variables) {
                coefficients.push_back(v.y * v.alpha);
                start.offset += v.alpha;
            }
            start.points = point;
            start.coefficients = coefficients;
        }
        CutResult result;
        const Outcome outcome = cut(x.rows, bias, risk, {tol, max_iter, accelerated}, start, monitor, result);
        weights = std::move(result.weights);
        alphas = std::move(result.coefficients);
        for (std::size_t i = 0; i < variables.size(); ++i) {
            alphas[i] = clip(variables[i].y * alphas[i], 0.0, variables[i].C);  // shares add up to 1 but for rounding
        }
        return outcome;
    });
}

// The dual variables of a multi-class problem, rows times classes, as the three arrays of a CSR matrix.
using Lists = std::tuple<Vector<double>, Vector<std::int32_t>, Vector<std::int64_t>>;

MulticlassVariables make_variables(const AnyRows& rows, const Vector<std::int32_t>& labels,
                                   const StridedVector<double>& C, const std::optional<Lists>& alpha,
                                   const Multiclass& problem) {
    const std::size_t size = rows.size();
    if (labels.size() != size || C.shape(0) != size) {
        throw std::invalid_argument("labels and C must have one entry per row of X");
    }
    MulticlassVariables variables;
    variables.rows.resize(size);
    for (std::size_t i = 0; i < size; ++i) {
        MulticlassRow& row = variables.rows[i];
        row.C = C(i);
        row.label = static_cast<std::uint32_t>(labels(i));
        if (!(row.C >= 0.0) || row.C == infinity || row.label >= problem.classes) {
            throw std::invalid_argument("C must be finite and not negative, and labels must be classes, in every row");
        }
        row.curvature = rows.squared_norms()[i] + problem.bias * problem.bias;
    }
    if (!alpha) {
        return variables;
    }
    const auto& [values, classes, starts] = *alpha;
    if (starts.size() != size + 1) {
        throw std::invalid_argument("alpha must have one row per row of X");
    }
    check_csr(classes.data(), std::min(values.size(), classes.size()), starts.data(), size, problem.classes);
    std::vector<double> all(problem.classes);
    std::vector<ClassValue> list;
    for (std::size_t i = 0; i < size; ++i) {
        const MulticlassRow& row = variables.rows[i];
        std::fill(all.begin(), all.end(), 0.0);
        for (auto k = starts(i); k < starts(i + 1); ++k) {
            all[static_cast<std::size_t>(classes(static_cast<std::size_t>(k)))] += values(static_cast<std::size_t>(k));
        }
        list.clear();
        double sum = 0.0;
        for (std::uint32_t m = 0; m < problem.classes; ++m) {
            if (m != row.label && all[m] > 0.0 && row.C > 0.0) {
                list.push_back({m, std::min(all[m], row.C)});
                sum += list.back().value;
            }
        }
        if (problem.formulation == Formulation::crammer_singer && sum > row.C) {
            for (ClassValue& v : list) {
                v.value *= row.C / sum;
            }
        }
        variables.assign(i, list);
    }
    return variables;
}

nb::tuple lists_of(const MulticlassVariables& variables) {
    std::vector<double> values, classes, counts;
    for (std::size_t i = 0; i < variables.rows.size(); ++i) {
        for (const ClassValue& v : variables.list(i)) {
            values.push_back(v.value);
            classes.push_back(v.which);
        }
        counts.push_back(variables.rows[i].count);
    }
    return nb::make_tuple(to_numpy(std::move(values)), to_numpy(std::move(classes)), to_numpy(std::move(counts)));
}

using MulticlassSolver = Outcome (*)(const AnyRows&, MulticlassVariables&, const Multiclass&, const Options&, Monitor&,
                                     std::vector<double>&);

template <MulticlassSolver solver>
nb::tuple py_multiclass(const PyRows& x, const Vector<std::int32_t>& labels, const StridedVector<double>& C,
                        Formulation formulation, std::size_t classes, double bias, OrderName order, bool shrinking,
                        const std::optional<Lists>& alpha, double tol, std::int64_t max_iter, double max_passes,
                        double time_limit, std::uint64_t seed, const nb::object& on_report, const StopFlag& stop) {
    MulticlassVariables variables;
    nb::tuple outcome = run(time_limit, on_report, stop, [&](Monitor& monitor, auto& weights, auto&) {
        const Multiclass problem{formulation, classes, bias};
        variables = make_variables(x.rows, labels, C, alpha, problem);
        return solver(x.rows, variables, problem, {order, shrinking, tol, max_iter, max_passes, seed, infinity},
                      monitor, weights);
    });
    return nb::make_tuple(outcome, lists_of(variables));
}

nb::tuple py_cut_classes(const PyRows& x, const Vector<std::int32_t>& labels, const StridedVector<double>& C,
                         std::size_t classes, double bias, const std::optional<Lists>& alpha, double tol,
                         std::int64_t max_iter, bool accelerated, double time_limit, const nb::object& on_report,
                         const StopFlag& stop) {
    MulticlassVariables variables;
    nb::tuple outcome = run(time_limit, on_report, stop, [&](Monitor& monitor, auto& weights, auto&) {
        const Multiclass problem{Formulation::crammer_singer, classes, bias};
        const std::size_t width = class_width(classes);
        variables = make_variables(x.rows, labels, C, alpha, problem);
        CrammerSingerRisk risk(variables, classes);
        CutStart start;
        std::vector<double> point, coefficients;
        if (alpha) {
            certify(x.rows, variables, problem, point);
            coefficients.resize(x.rows.size() * width);
            for (std::size_t i = 0; i < x.rows.size(); ++i) {
                for (const ClassValue& v : variables.list(i)) {
                    coefficients[i * width + v.which] = -v.value;
                }
                coefficients[i * width + variables.rows[i].label] = variables.rows[i].sum;
                start.offset += variables.rows[i].sum;
            }
            start.points = point;
            start.coefficients = coefficients;
        }
        CutResult result;
        Outcome reached = cut(x.rows, bias, risk, {tol, max_iter, accelerated}, start, monitor, result);
        weights = std::move(result.weights);
        std::vector<ClassValue> list;
        for (std::size_t i = 0; i < x.rows.size(); ++i) {
            list.clear();
            for (std::uint32_t m = 0; m < classes; ++m) {
                if (m != variables.rows[i].label) {
                    list.push_back({m, std::max(-result.coefficients[i * width + m], 0.0)});
                }
            }
            variables.assign(i, list);
        }
        return reached;
    });
    return nb::make_tuple(outcome, lists_of(variables));
}

nb::tuple py_certify_classes(const PyRows& x, const Vector<std::int32_t>& labels, const StridedVector<double>& C,
                             Formulation formulation, std::size_t classes, double bias, const Lists& alpha) {
    std::vector<double> weights;
    MulticlassVariables variables;
    Certificate certificate;
    {
        nb::gil_scoped_release unlocked;
        const Multiclass problem{formulation, classes, bias};
        variables = make_variables(x.rows, labels, C, alpha, problem);
        certificate = certify(x.rows, variables, problem, weights);
    }
    return nb::make_tuple(to_numpy(std::move(weights)), certificate.primal, certificate.dual, lists_of(variables));
}

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
std::span<const T> span_of(const std::optional<Vector<T>>& values, std::size_t size) {
    if (!values) {
        return {};
    }
    if (values->size() != size) {
        throw std::invalid_argument("labels, groups and weights must have one entry per row");
    }
    return {values->data(), size};
}

nb::tuple py_cut_pairs(const PyRows& x, const PyPairs& ranked, double C, const Matrix<double>& points, double tol,
                       std::int64_t max_iter, bool accelerated, double time_limit, const nb::object& on_report,
                       const StopFlag& stop) {
    ranked.check(x.rows.size());
    if (points.shape(1) != x.rows.features() + 1) {
        throw std::invalid_argument("points must have one column per feature and one for the bias");
    }
    CutResult result;
    nb::tuple outcome = run(time_limit, on_report, stop, [&](Monitor& monitor, auto& weights, auto& alphas) {
        RankedPairs pairs = ranked.pairs;  // it keeps the order of the last scores
        PairRisk risk(pairs, C);
        CutStart start;
        start.points = {points.data(), points.size()};
        const Outcome reached = cut(x.rows, 0.0, risk, {tol, max_iter, accelerated}, start, monitor, result);
        weights = std::move(result.weights);
        alphas = std::move(result.coefficients);
        return reached;
    });
    return nb::make_tuple(outcome, to_numpy(std::move(result.points)));
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

nb::tuple py_certify(const PyRows& x, const StridedVector<std::int8_t>& y, const StridedVector<double>& C,
                     const DualOfLoss& dual_of_loss, const ValueAndFree& bias_column,
                     const StridedVector<double>& alpha) {
    std::vector<double> weights, alphas;
    Certificate certificate;
    {
        nb::gil_scoped_release unlocked;
        const Loss loss = make_loss(dual_of_loss);
        const Bias bias = make_bias(bias_column);
        std::vector<Variable> variables = make_variables(x.rows, y, C, alpha, loss);
        certificate = certify(x.rows, variables, loss, bias, weights);
        alphas = alphas_of(variables);
    }
    return nb::make_tuple(to_numpy(std::move(weights)), to_numpy(std::move(alphas)), certificate.primal,
                          certificate.dual);
}

nb::ndarray<nb::numpy, double, nb::ndim<2>> py_score(const PyRows& x, const Matrix<double>& weights,
                                                     const Vector<double>& intercepts) {
    const std::size_t classes = weights.shape(0);
    if (weights.shape(1) != x.rows.features() || intercepts.shape(0) != classes) {
        throw std::invalid_argument("weights must be classes x features and intercepts have one entry per class");
    }
    auto* scores = new std::vector<double>(x.rows.size() * classes);
    nb::capsule owner(scores, [](void* p) noexcept { delete static_cast<std::vector<double>*>(p); });
    {
        nb::gil_scoped_release unlocked;
        score(x.rows, weights.data(), intercepts.data(), classes, scores->data());
    }
    return {scores->data(), {x.rows.size(), classes}, owner};
}

template <class Value, class Index, class Pointer>
void bind_csr(nb::class_<PyRows>& rows) {
    rows.def_static("csr", &csr_rows<Value, Index, Pointer>, "values"_a.noconvert(), "indices"_a.noconvert(),
                    "indptr"_a.noconvert(), "n_features"_a);
}

}  // namespace
}  // namespace maxmargin

NB_MODULE(_core, m) {
    using namespace maxmargin;
    using std::int32_t, std::int64_t;

    nb::class_<PyRows> rows(m, "Rows");
    bind_csr<float, int32_t, int32_t>(rows);
    bind_csr<float, int32_t, int64_t>(rows);
    bind_csr<float, int64_t, int32_t>(rows);
    bind_csr<float, int64_t, int64_t>(rows);
    bind_csr<double, int32_t, int32_t>(rows);
    bind_csr<double, int32_t, int64_t>(rows);
    bind_csr<double, int64_t, int32_t>(rows);
    bind_csr<double, int64_t, int64_t>(rows);
    rows.def_static("dense", &dense_rows<float>, "values"_a.noconvert());
    rows.def_static("dense", &dense_rows<double>, "values"_a.noconvert());

    rows.def("mean_squared_norm", [](const PyRows& x) {
        const std::vector<double>& norms = x.rows.squared_norms();
        return std::accumulate(norms.begin(), norms.end(), 0.0) / static_cast<double>(norms.size());
    });

    rows.def("stored",
             [](const PyRows& x) { return std::visit([](const auto& r) { return r.stored(); }, x.rows.variant()); });

    nb::class_<StopFlag>(m, "StopFlag")
        .def(nb::init<>())
        .def("set", [](StopFlag& flag) { flag.value = true; })
        .def("is_set", [](const StopFlag& flag) { return flag.value.load(); });

    nb::enum_<OrderName>(m, "Order")
        .value("PERMUTED", OrderName::permuted)
        .value("UNIFORM", OrderName::uniform)
        .value("ADAPTIVE", OrderName::adaptive);
    nb::enum_<Exit>(m, "Exit")
        .value("CONVERGED", Exit::converged)
        .value("MAX_ITER", Exit::max_iter)
        .value("TIME_LIMIT", Exit::time_limit)
        .value("STOPPED", Exit::stopped)
        .value("BUDGET", Exit::budget);

    m.def("descend", &py_descend, "rows"_a, "y"_a, "C"_a, "loss"_a, "bias"_a, "order"_a, "shrinking"_a,
          "alpha"_a.none(), "tol"_a, "max_iter"_a, "max_passes"_a, "worth"_a, "time_limit"_a, "seed"_a,
          "on_report"_a.none(), "stop"_a);
    m.def("newton", &py_newton, "rows"_a, "y"_a, "C"_a, "loss"_a, "bias"_a, "alpha"_a.none(), "tol"_a, "max_iter"_a,
          "time_limit"_a, "on_report"_a.none(), "stop"_a);
    m.def("primal_coordinate_descent", &py_primal<&primal_coordinate_descent>, "rows"_a, "y"_a, "C"_a, "loss"_a,
          "bias"_a, "alpha"_a.none(), "tol"_a, "max_iter"_a, "seed"_a, "averaging"_a, "projection"_a, "time_limit"_a,
          "on_report"_a.none(), "stop"_a);
    m.def("pegasos", &py_primal<&pegasos>, "rows"_a, "y"_a, "C"_a, "loss"_a, "bias"_a, "alpha"_a.none(), "tol"_a,
          "max_iter"_a, "seed"_a, "averaging"_a, "projection"_a, "time_limit"_a, "on_report"_a.none(), "stop"_a);
    m.def("cut", &py_cut, "rows"_a, "y"_a, "C"_a, "bias"_a, "alpha"_a.none(), "tol"_a, "max_iter"_a, "accelerated"_a,
          "time_limit"_a, "on_report"_a.none(), "stop"_a);

    nb::enum_<Formulation>(m, "Formulation")
        .value("CRAMMER_SINGER", Formulation::crammer_singer)
        .value("WESTON_WATKINS", Formulation::weston_watkins);
    m.def("sequential_dual_method", &py_multiclass<&sequential_dual_method>, "rows"_a, "labels"_a, "C"_a,
          "formulation"_a, "classes"_a, "bias"_a, "order"_a, "shrinking"_a, "alpha"_a.none(), "tol"_a, "max_iter"_a,
          "max_passes"_a, "time_limit"_a, "seed"_a, "on_report"_a.none(), "stop"_a);
    m.def("exponentiated_gradient", &py_multiclass<&exponentiated_gradient>, "rows"_a, "labels"_a, "C"_a,
          "formulation"_a, "classes"_a, "bias"_a, "order"_a, "shrinking"_a, "alpha"_a.none(), "tol"_a, "max_iter"_a,
          "max_passes"_a, "time_limit"_a, "seed"_a, "on_report"_a.none(), "stop"_a);
    m.def("multiclass_newton", &py_multiclass<&multiclass_newton>, "rows"_a, "labels"_a, "C"_a, "formulation"_a,
          "classes"_a, "bias"_a, "order"_a, "shrinking"_a, "alpha"_a.none(), "tol"_a, "max_iter"_a, "max_passes"_a,
          "time_limit"_a, "seed"_a, "on_report"_a.none(), "stop"_a);
    m.def("cut_classes", &py_cut_classes, "rows"_a, "labels"_a, "C"_a, "classes"_a, "bias"_a, "alpha"_a.none(), "tol"_a,
          "max_iter"_a, "accelerated"_a, "time_limit"_a, "on_report"_a.none(), "stop"_a);
    m.def("certify_classes", &py_certify_classes, "rows"_a, "labels"_a, "C"_a, "formulation"_a, "classes"_a, "bias"_a,
          "alpha"_a);

    nb::class_<PyPairs>(m, "Pairs")
        .def(
            "__init__",
            [](PyPairs* self, const Vector<double>& labels, const std::optional<Vector<std::int64_t>>& groups,
               const std::optional<Vector<double>>& weights) {
                const std::size_t size = labels.size();
                nb::gil_scoped_release unlocked;
                new (self)
                    PyPairs{RankedPairs({labels.data(), size}, span_of(groups, size), span_of(weights, size)), size};
            },
            "labels"_a, "groups"_a.none(), "weights"_a.none())
        .def("total", [](const PyPairs& ranked) { return ranked.pairs.total(); })
        .def("violated", &py_violated, "scores"_a)
        .def("count", &py_count, "scores"_a);
    m.def("cut_pairs", &py_cut_pairs, "rows"_a, "pairs"_a, "C"_a, "points"_a, "tol"_a, "max_iter"_a, "accelerated"_a,
          "time_limit"_a, "on_report"_a.none(), "stop"_a);
    bind_text(m);
    m.def("score", &py_score, "rows"_a, "weights"_a, "intercepts"_a);
    m.def("certify", &py_certify, "rows"_a, "y"_a, "C"_a, "loss"_a, "bias"_a, "alpha"_a);
}
