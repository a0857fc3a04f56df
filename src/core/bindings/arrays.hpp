// Arrays of numpy as the kernels take them, and vectors as arrays.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "rows/any_rows.hpp"

namespace maxmargin {

namespace nb = nanobind;

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
// Read element by element, so that a broadcast scalar needs no memory.
template <class T>
using StridedVector = nb::ndarray<const T, nb::ndim<1>, nb::device::cpu>;
// Changed in place.
template <class T>
using WritableVector = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Array = nb::ndarray<nb::numpy, double, nb::ndim<1>>;
// Of any numbers. A function that asks for their type when it is called is bound once, not once for each type.
using AnyVector = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using AnyMatrix = nb::ndarray<nb::ro, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// body(pointer to the first number), of one of two types.
template <class Narrow, class Wide, class Given, class Body>
auto with_either(const Given& values, const char* name, const Body& body) {
    if (values.dtype() == nb::dtype<Narrow>()) {
        return body(static_cast<const Narrow*>(values.data()));
    }
    if (values.dtype() != nb::dtype<Wide>()) {
        throw nb::type_error(name);
    }
    return body(static_cast<const Wide*>(values.data()));
}
template <class Given, class Body>
auto with_floats(const Given& values, const Body& body) {
    return with_either<float, double>(values, "values must be float32 or float64", body);
}
template <class Given, class Body>
auto with_integers(const Given& values, const Body& body) {
    return with_either<std::int32_t, std::int64_t>(values, "indices and indptr must be int32 or int64", body);
}

template <class T>
nb::ndarray<nb::numpy, T, nb::ndim<1>> to_numpy(std::vector<T>&& values) {
    auto* owned = new std::vector<T>(std::move(values));
    nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return nb::ndarray<nb::numpy, T, nb::ndim<1>>(owned->data(), {owned->size()}, owner);
}

template <class T>
std::span<const T> span_of(const std::optional<Vector<T>>& values) {
    return values ? std::span<const T>(values->data(), values->size()) : std::span<const T>();
}

// The handles keep the arrays alive as long as the rows that look into them.
struct PyRows {
    AnyRows rows;
    std::vector<nb::object> arrays;
};

void bind_rows(nb::module_& m);
void bind_run(nb::module_& m);
void bind_binary(nb::module_& m);
void bind_l1(nb::module_& m);
void bind_measure(nb::module_& m);
void bind_one_class(nb::module_& m);
void bind_multiclass(nb::module_& m);
void bind_ranking(nb::module_& m);
void bind_text(nb::module_& m);

}  // namespace maxmargin
