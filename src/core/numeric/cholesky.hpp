// A small dense symmetric positive definite matrix: rank-one updates and the solution of A x = b by Cholesky.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "numeric/simd.hpp"

namespace maxmargin {

// Row-major, lower triangle only.
class SymmetricMatrix {
  public:
    explicit SymmetricMatrix(std::size_t size) : size_(size), entries_(size * size + room) {}

    std::size_t size() const { return size_; }
    double* row(std::size_t i) { return entries_.data() + i * size_; }
    const double* row(std::size_t i) const { return entries_.data() + i * size_; }
    double& lower(std::size_t i, std::size_t j) { return i < j ? entries_[j * size_ + i] : entries_[i * size_ + j]; }
    void clear() { entries_.assign(entries_.size(), 0.0); }

  private:
    // Behind the last entry, so that no other matrix is near that another thread writes to.
    static constexpr std::size_t room = 16;

    std::size_t size_;
    std::vector<double> entries_;
};

// The entries of rows i to i + 3 of the factor in the columns `begin` to `end`, which lie before i, two at a time; all
// three are even, and the columns before `begin` are known.
inline void factorise_four_rows(const SymmetricMatrix& A, double scale, SymmetricMatrix& factor, std::size_t i,
                                std::size_t begin, std::size_t end) {
    double products[8];
    for (std::size_t j = begin; j < end; j += 2) {
        dense_products(factor.row(i), factor.row(j), A.size(), j, products);
        const double *first = factor.row(j), *second = factor.row(j + 1);
        for (std::size_t r = 0; r < 4; ++r) {
            double* own = factor.row(i + r);
            own[j] = (scale * A.row(i + r)[j] - products[r]) / first[j];
            own[j + 1] = (scale * A.row(i + r)[j + 1] - products[4 + r] - own[j] * second[j]) / second[j + 1];
        }
    }
}

// The same for one row.
inline void factorise_row(const SymmetricMatrix& A, double scale, SymmetricMatrix& factor, std::size_t i,
                          std::size_t begin, std::size_t end) {
    double* own = factor.row(i);
    for (std::size_t j = begin; j < end; ++j) {
        own[j] = (scale * A.row(i)[j] - dense_dot(own, factor.row(j), j)) / factor.row(j)[j];
    }
}

// Runs its argument, a function of a number, for all numbers below the first argument, in any order.
struct OneByOne {
    template <class Body>
    void operator()(std::size_t count, const Body& body) const {
        for (std::size_t k = 0; k < count; ++k) {
            body(k);
        }
    }
};

// The Cholesky factor of I + scale * A, with `last` instead of the last 1. False when that is not numerically positive
// definite, or when `stop(work)`, which is told of multiplications, is true. By panels of columns: in the rows below
// the diagonal the entries of a panel do not depend on each other, so that `for_all` may work on many rows at a time.
template <class Stop, class ForAll = OneByOne>
bool factorise_shifted(const SymmetricMatrix& A, double scale, SymmetricMatrix& factor, double last, const Stop& stop,
                       const ForAll& for_all = {}) {
    constexpr std::size_t panel = 64;
    const std::size_t n = A.size();
    for (std::size_t begin = 0; begin < n; begin += panel) {
        const std::size_t end = std::min(begin + panel, n);
        if (stop((n - begin) * (begin + panel) * panel / 2)) {
            return false;
        }
        for (std::size_t i = begin; i < end; ++i) {
            double* own = factor.row(i);
            const std::size_t four = i - i % 4;
            if (i == four && four + 4 <= n) {
                factorise_four_rows(A, scale, factor, i, begin, four);
            }
            factorise_row(A, scale, factor, i, four + 4 <= n ? four : begin, i);
            const double pivot = (i + 1 < n ? 1.0 : last) + scale * A.row(i)[i] - dense_dot(own, own, i);
            if (!(pivot > 0.0)) {
                return false;
            }
            own[i] = std::sqrt(pivot);
        }
        const std::size_t fours = (n - end) / 4;  // a panel ends at a multiple of four, or there are none
        for_all(fours, [&](std::size_t k) { factorise_four_rows(A, scale, factor, end + 4 * k, begin, end); });
        for (std::size_t i = end + 4 * fours; i < n; ++i) {
            factorise_row(A, scale, factor, i, begin, end);
        }
    }
    return true;
}

inline bool factorise_shifted(const SymmetricMatrix& A, double scale, SymmetricMatrix& factor, double last = 1.0) {
    return factorise_shifted(A, scale, factor, last, [](std::size_t) { return false; });
}

// Solves L L' x = b in place of b.
inline void solve_factorised(const SymmetricMatrix& factor, std::vector<double>& b) {
    const std::size_t n = factor.size();
    for (std::size_t i = 0; i < n; ++i) {
        b[i] = (b[i] - dense_dot(factor.row(i), b.data(), i)) / factor.row(i)[i];
    }
    for (std::size_t i = n; i-- > 0;) {
        b[i] /= factor.row(i)[i];
        dense_axpy(-b[i], factor.row(i), b.data(), i);
    }
}

// Solves (I + scale * A) x = b in place of b, with `last` instead of the last 1.
template <class Stop, class ForAll = OneByOne>
bool solve_shifted(const SymmetricMatrix& A, double scale, SymmetricMatrix& factor, std::vector<double>& b, double last,
                   const Stop& stop, const ForAll& for_all = {}) {
    if (!factorise_shifted(A, scale, factor, last, stop, for_all)) {
        return false;
    }
    solve_factorised(factor, b);
    return true;
}

}  // namespace maxmargin
