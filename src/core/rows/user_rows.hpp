// Rows of the user's matrix, sparse or dense. Which kind they are is asked once per row and operation, as `CsrRows`
// asks for the types of its arrays: every method is then compiled once, not once for each kind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "rows/row_kinds.hpp"
#include "rows/row_source.hpp"
#include "rows/rows.hpp"

namespace maxmargin {

class UserRows : public RowKinds<UserRows> {
    friend class RowKinds<UserRows>;

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
    // Whether the column indices of each row increase; dense rows have none that could not.
    bool every_row_increases() const { return !sparse() || sparse()->every_row_increases(); }
    bool equal(std::size_t i, std::size_t j) const {
        return with_kind([&](const auto& rows) { return rows.equal(i, j); });
    }

  private:
    std::variant<CsrRows, DenseRows> rows_;
    std::size_t size_, features_;
};

}  // namespace maxmargin
