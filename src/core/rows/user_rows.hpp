// Rows of the user's matrix, sparse or dense. Which kind they are is asked once per row and operation, as `CsrRows`
// asks for the types of its arrays: every method is then compiled once, not once for each kind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "rows/row_source.hpp"
#include "rows/rows.hpp"

namespace maxmargin {

class UserRows {
    // body(rows), with their kind.
    template <class Body>
    decltype(auto) with_kind(const Body& body) const {
        if (const CsrRows* sparse = std::get_if<CsrRows>(&rows_)) {
            return body(*sparse);
        }
        return body(*std::get_if<DenseRows>(&rows_));
    }

  public:
    // Sparse ones must have passed check_csr.
    explicit UserRows(const CsrRows& rows) : rows_(rows), size_(rows.size()), features_(rows.features()) {}
    explicit UserRows(const DenseRows& rows) : rows_(rows), size_(rows.size()), features_(rows.features()) {}

    // Null for dense ones.
    const CsrRows* sparse() const { return std::get_if<CsrRows>(&rows_); }

    std::size_t size() const { return size_; }
    std::size_t features() const { return features_; }
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
    void class_scores(std::size_t i, const double* weights, std::size_t width, double* scores) const {
        with_kind([&](const auto& rows) { rows.class_scores(i, weights, width, scores); });
    }
    void some_class_scores(std::size_t i, const double* weights, std::size_t width,
                           std::span<const std::uint32_t> classes, double* scores) const {
        with_kind([&](const auto& rows) { rows.some_class_scores(i, weights, width, classes, scores); });
    }
    void add_to_classes(std::size_t i, std::span<const std::uint32_t> classes, const double* changes, double* weights,
                        std::size_t width) const {
        with_kind([&](const auto& rows) { rows.add_to_classes(i, classes, changes, weights, width); });
    }
    void scores(std::size_t first, std::size_t count, const double* weights, const double* intercepts,
                std::size_t classes, double* scores) const {
        with_kind([&](const auto& rows) { rows.scores(first, count, weights, intercepts, classes, scores); });
    }
    void add_outers(std::span<const RowIndex> chosen, const double* scales, SymmetricMatrix& A, std::size_t first,
                    std::size_t last) const {
        with_kind([&](const auto& rows) { rows.add_outers(chosen, scales, A, first, last); });
    }
    void add_squares(std::size_t i, double scale, double* w) const {
        with_kind([&](const auto& rows) { rows.add_squares(i, scale, w); });
    }
    std::vector<double> squared_norms(Team* team = nullptr) const {
        return with_kind([team](const auto& rows) { return rows.squared_norms(team); });
    }
    bool equal(std::size_t i, std::size_t j) const {
        return with_kind([&](const auto& rows) { return rows.equal(i, j); });
    }

    // visit(column, value) for every entry that is stored, or is not zero.
    template <class Visit>
    void for_each(std::size_t i, Visit visit) const {
        with_kind([&](const auto& rows) { rows.for_each(i, visit); });
    }
    template <class Visit>
    void for_each_place(Visit visit) const {
        visit_own_places(features_, visit);
    }

    void prefetch_start(std::size_t i) const {
        with_kind([i](const auto& rows) { rows.prefetch_start(i); });
    }
    void prefetch(std::size_t i) const {
        with_kind([i](const auto& rows) { rows.prefetch(i); });
    }

  private:
    std::variant<CsrRows, DenseRows> rows_;
    std::size_t size_, features_;
};

}  // namespace maxmargin
