// Rows of one of several kinds, which is known at run time only: what kernels ask for, once per row and operation. The
// class derived from it has `with_kind(body)`, which calls body(rows) with their kind.
#pragma once

#include <cstddef>

namespace maxmargin {

template <class Derived>
class RowKinds {
    template <class Body>
    decltype(auto) with_kind(const Body& body) const {
        return static_cast<const Derived&>(*this).with_kind(body);
    }

  public:
    std::size_t stored() const {
        return with_kind([](const auto& rows) { return rows.stored(); });
    }
    std::size_t stored(std::size_t i) const {
        return with_kind([i](const auto& rows) { return rows.stored(i); });
    }

    // body(view), with the types of the arrays.
    template <class Body>
    decltype(auto) with_view(const Body& body) const {
        return with_kind([&](const auto& rows) -> decltype(auto) { return rows.with_view(body); });
    }

    double dot(std::size_t i, const double* w) const {
        return with_kind([&](const auto& rows) { return rows.dot(i, w); });
    }
    void axpy(std::size_t i, double a, double* w) const {
        with_kind([&](const auto& rows) { rows.axpy(i, a, w); });
    }

    // visit(column, value) for every entry that is stored, or is not zero.
    template <class Visit>
    void for_each(std::size_t i, Visit visit) const {
        with_kind([&](const auto& rows) { rows.for_each(i, visit); });
    }
    template <class Visit>
    void for_each_place(Visit visit) const {
        with_kind([&](const auto& rows) { rows.for_each_place(visit); });
    }

    void prefetch_start(std::size_t i) const {
        with_kind([i](const auto& rows) { rows.prefetch_start(i); });
    }
    void prefetch(std::size_t i) const {
        with_kind([i](const auto& rows) { rows.prefetch(i); });
    }
};

}  // namespace maxmargin
