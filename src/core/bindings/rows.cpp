#include <nanobind/stl/optional.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <utility>

#include "bindings/arrays.hpp"
#include "rows/score.hpp"
#include "rows/sums.hpp"
#include "run/chunks.hpp"

using namespace nanobind::literals;

namespace maxmargin {
namespace {

// body(team), with threads that end with it; without them where there is too little work, in stored values.
template <class Body>
void with_team(std::size_t threads, std::size_t work, const Body& body) {
    std::optional<Team> team;
    body(threads > 1 && work >= Chunks::worth_waking ? &team.emplace(threads) : nullptr);
}

PyRows csr_rows(const AnyVector& values, const AnyVector& indices, const AnyVector& starts, std::size_t features) {
    if (starts.size() == 0) {
        throw std::invalid_argument("the row pointers (indptr) of X are empty");
    }
    if (features >= ColumnIndices::too_many) {
        PyErr_Format(
            PyExc_MemoryError,
            "X has %zu columns, more than the %zu that can have weights; renumber the features if most of them "
            "do not occur",
            features, ColumnIndices::too_many - 1);
        throw nb::python_error();
    }
    const std::size_t rows = starts.size() - 1;
    const std::size_t stored = std::min(values.size(), indices.size());
    const auto from = with_integers(starts, [](auto* s) { return RowStarts(s); });
    const auto columns = with_integers(indices, [](auto* j) { return ColumnIndices(j); });
    const auto own = with_floats(values, [&](auto* x) { return UserRows(CsrRows(x, columns, from, rows, features)); });
    {
        nb::gil_scoped_release unlocked;
        with_integers(indices, [&](auto* j) {
            with_integers(starts, [&](auto* s) { check_csr(j, stored, s, rows, features); });
        });
    }
    return {AnyRows(own), {nb::cast(values), nb::cast(indices), nb::cast(starts)}};
}

PyRows dense_rows(const AnyMatrix& values) {
    const auto own =
        with_floats(values, [&](auto* x) { return UserRows(DenseRows(x, values.shape(0), values.shape(1))); });
    return {AnyRows(own), {nb::cast(values)}};
}

nb::ndarray<nb::numpy, double, nb::ndim<2>> py_score(const PyRows& x, const Matrix<double>& weights,
                                                     const Vector<double>& intercepts,
                                                     const std::optional<Vector<std::int64_t>>& wanted,
                                                     std::size_t threads) {
    const std::size_t classes = weights.shape(1);
    if (weights.shape(0) != x.rows.features() || intercepts.shape(0) != classes) {
        throw std::invalid_argument("weights must be features x classes and intercepts have one entry per class");
    }
    const std::span<const std::int64_t> given = span_of(wanted);
    const auto size = static_cast<std::int64_t>(x.rows.size());
    if (std::any_of(given.begin(), given.end(), [&](std::int64_t i) { return i < 0 || i >= size; })) {
        throw std::invalid_argument("rows that are wanted must be rows of X");
    }
    const std::size_t count = wanted ? given.size() : x.rows.size();
    auto* scores = new std::vector<double>(count * classes);
    nb::capsule owner(scores, [](void* p) noexcept { delete static_cast<std::vector<double>*>(p); });
    {
        nb::gil_scoped_release unlocked;
        if (wanted) {
            score(x.rows, given, weights.data(), intercepts.data(), classes, scores->data());
        } else {
            with_team(threads, x.rows.stored() * classes, [&](Team* team) {
                score(x.rows, weights.data(), intercepts.data(), classes, scores->data(), team);
            });
        }
    }
    return {scores->data(), {count, classes}, owner};
}

std::span<const double> checked_coefficients(const PyRows& x, const Vector<double>& coefficients) {
    if (coefficients.size() != x.rows.size()) {
        throw std::invalid_argument("coefficients must have one entry per row");
    }
    return {coefficients.data(), coefficients.size()};
}

Array py_row_sums(const PyRows& x, const Vector<double>& coefficients) {
    const std::span<const double> given = checked_coefficients(x, coefficients);
    std::vector<double> sums(x.rows.features());
    {
        nb::gil_scoped_release unlocked;
        add_rows(x.rows, given, sums.data());
    }
    return to_numpy(std::move(sums));
}

// The lower triangle, row by row; the rest is zero.
nb::ndarray<nb::numpy, double, nb::ndim<2>> py_outer_sums(const PyRows& x, const Vector<double>& coefficients,
                                                          double column) {
    const std::span<const double> given = checked_coefficients(x, coefficients);
    auto* A = new SymmetricMatrix(x.rows.features() + 1);
    nb::capsule owner(A, [](void* p) noexcept { delete static_cast<SymmetricMatrix*>(p); });
    {
        nb::gil_scoped_release unlocked;
        add_outer_products(x.rows, given, column, *A);
    }
    return {A->row(0), {A->size(), A->size()}, owner};
}

}  // namespace

void bind_rows(nb::module_& m) {
    nb::class_<PyRows> rows(m, "Rows");
    rows.def_static("csr", &csr_rows, "values"_a.noconvert(), "indices"_a.noconvert(), "indptr"_a.noconvert(),
                    "n_features"_a);
    rows.def_static("dense", &dense_rows, "values"_a.noconvert());
    rows.def("mean_squared_norm", [](const PyRows& x) { return x.rows.mean_squared_norm(); });
    rows.def("squared_norms", [](const PyRows& x) { return to_numpy(std::vector<double>(x.rows.squared_norms())); });
    rows.def(
        "measure",
        [](const PyRows& x, std::size_t threads) {
            with_team(threads, x.rows.stored(), [&](Team* team) { x.rows.squared_norms(team); });
        },
        "threads"_a, nb::call_guard<nb::gil_scoped_release>());
    rows.def("stored", [](const PyRows& x) { return x.rows.stored(); });
    m.def("row_sums", &py_row_sums, "rows"_a, "coefficients"_a);
    m.def("outer_sums", &py_outer_sums, "rows"_a, "coefficients"_a, "column"_a);
    m.def("score", &py_score, "rows"_a, "weights"_a, "intercepts"_a, "wanted"_a = nb::none(), "threads"_a = 1);
}

}  // namespace maxmargin
