// A Newton step over some features. With H = sum over curved rows of x_i x_i' it minimises 1/2 d'Hd - g'd + |w + d|_1
// by coordinate descent on the matrix H, where that is cheap, or else solves H d = g - sign(w) for the weights in use
// by conjugate gradients. The entries of curved rows are copied row by row first.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "binary/l1_columns.hpp"
#include "binary/l1_quadratic.hpp"
#include "numeric/cholesky.hpp"
#include "numeric/simd.hpp"
#include "run/monitor.hpp"

namespace maxmargin {

class L1Newton {
  public:
    static constexpr std::size_t largest_matrix = 640;  // features

    explicit L1Newton(const L1Columns& columns, Monitor& monitor) : columns_(columns), monitor_(monitor) {}

    // Copies the rows that `is_curved`. False when time has run out.
    bool begin(std::span<const std::uint32_t> features, const std::vector<char>& is_curved) {
        return copy_rows(features, is_curved);
    }

    // Whether the matrix pays.
    bool is_small() const {
        return diagonal_.size() <= largest_matrix && pairs_ <= usual_iterations * static_cast<double>(entries_.size());
    }

    // The minimum of the quadratic model: w in place of w. `penalties` multiply the absolute values.
    bool minimise(const std::vector<double>& g, const std::vector<double>& penalties, double enough,
                  std::vector<double>& w) {
        const std::size_t n = g.size();
        if (!make_matrix(n)) {
            return false;
        }
        std::vector<double> rest = g;
        L1Quadratic(matrix_, penalties, monitor_).minimise(w, rest, enough);
        return true;
    }

    // Solves H d = g in place of g, to an accuracy.
    bool solve(std::vector<double>& g, double accuracy) { return by_gradients(g, accuracy); }

  private:
    struct Entry {
        double value;
        std::uint32_t place;  // in the support
    };
    static constexpr double usual_iterations = 60.0;  // of conjugate gradients, which a matrix must be worth
    static constexpr int most_iterations = 50;
    static constexpr std::size_t most_heavy = 128;
    static constexpr std::uint32_t none = ~std::uint32_t{0};
    static constexpr double ridge = 1e-10;  // of the mean diagonal

    bool copy_rows(std::span<const std::uint32_t> support, const std::vector<char>& is_curved) {
        starts_.assign(is_curved.size() + 1, 0);
        diagonal_.assign(support.size(), 0.0);
        for (std::size_t p = 0; p < support.size(); ++p) {
            if (monitor_.poll(columns_.size(support[p]))) {
                return false;
            }
            const Column column = columns_[support[p]];
            for (std::size_t k = 0; k < column.rows.size(); ++k) {
                if (is_curved[column.rows[k]]) {
                    ++starts_[column.rows[k] + 1];
                    diagonal_[p] += column.values[k] * column.values[k];
                }
            }
        }
        pairs_ = 0.0;
        for (std::size_t i = 0; i < is_curved.size(); ++i) {
            const auto count = static_cast<double>(starts_[i + 1]);
            pairs_ += 0.5 * count * (count + 1.0);
            starts_[i + 1] += starts_[i];
        }
        entries_.resize(starts_.back());
        ends_.assign(starts_.begin(), starts_.end() - 1);
        for (std::size_t p = 0; p < support.size(); ++p) {
            const Column column = columns_[support[p]];
            for (std::size_t k = 0; k < column.rows.size(); ++k) {
                if (is_curved[column.rows[k]]) {
                    entries_[ends_[column.rows[k]]++] = {column.values[k], static_cast<std::uint32_t>(p)};
                }
            }
        }
        double sum = 0.0;
        for (const double value : diagonal_) {
            sum += value;
        }
        shift_ = ridge * sum / static_cast<double>(diagonal_.size());
        return shift_ > 0.0;
    }

    std::span<const Entry> row(std::size_t i) const {
        return std::span(entries_).subspan(starts_[i], starts_[i + 1] - starts_[i]);
    }

    bool make_matrix(std::size_t n) {
        matrix_.assign(n * n, 0.0);
        for (std::size_t i = 0; i + 1 < starts_.size(); ++i) {
            const std::span<const Entry> own = row(i);
            if (monitor_.poll(own.size() * own.size())) {
                return false;
            }
            for (std::size_t q = 0; q < own.size(); ++q) {  // places rise within a row
                double* line = matrix_.data() + own[q].place * n;
                const double value = own[q].value;
                for (std::size_t s = 0; s <= q; ++s) {
                    line[own[s].place] += value * own[s].value;
                }
            }
        }
        for (std::size_t p = 0; p < n; ++p) {
            for (std::size_t q = 0; q < p; ++q) {
                matrix_[q * n + p] = matrix_[p * n + q];
            }
        }
        return true;
    }

    // The Cholesky factor of H for the features of the largest diagonal, which make the system hard.
    bool factorise_heavy(std::size_t n) {
        heavy_.resize(n);
        std::iota(heavy_.begin(), heavy_.end(), std::uint32_t{0});
        const std::size_t count = std::min(n, most_heavy);
        std::partial_sort(heavy_.begin(), heavy_.begin() + static_cast<std::ptrdiff_t>(count), heavy_.end(),
                          [this](std::uint32_t a, std::uint32_t b) {
                              return diagonal_[a] != diagonal_[b] ? diagonal_[a] > diagonal_[b] : a < b;
                          });
        heavy_.resize(count);
        std::vector<std::uint32_t> place(n, none);
        for (std::size_t h = 0; h < count; ++h) {
            place[heavy_[h]] = static_cast<std::uint32_t>(h);
        }
        SymmetricMatrix H(count);
        std::vector<Entry> own;
        for (std::size_t i = 0; i + 1 < starts_.size(); ++i) {
            own.clear();
            for (const Entry& entry : row(i)) {
                if (place[entry.place] != none) {
                    own.push_back({entry.value, place[entry.place]});
                }
            }
            for (const Entry& a : own) {
                double* line = H.row(a.place);
                for (const Entry& b : own) {
                    line[b.place] += a.value * b.value;  // the upper triangle is never read
                }
            }
            if (monitor_.poll(own.size() * own.size())) {
                return false;
            }
        }
        factor_.emplace(count);
        block_.resize(count);
        block_shift_ = 1e4 * shift_;
        return factorise_shifted(H, 1.0 / block_shift_, *factor_, 1.0,
                                 [this](std::size_t work) { return monitor_.poll(work); });
    }

    // Conjugate gradients with this factor and the diagonal of the other features as preconditioner.
    bool by_gradients(std::vector<double>& g, double accuracy) {
        const std::size_t n = g.size();
        std::vector<double> d(n), residual = g, z(n), direction(n), product(n);
        const bool with_block = factorise_heavy(n);
        auto precondition = [&] {
            for (std::size_t p = 0; p < n; ++p) {
                z[p] = residual[p] / (diagonal_[p] + shift_);
            }
            if (with_block) {
                for (std::size_t h = 0; h < heavy_.size(); ++h) {
                    block_[h] = residual[heavy_[h]] / block_shift_;
                }
                solve_factorised(*factor_, block_);
                for (std::size_t h = 0; h < heavy_.size(); ++h) {
                    z[heavy_[h]] = block_[h];
                }
            }
            return dense_dot(z.data(), residual.data(), n);
        };
        double rho = precondition();
        const double enough = accuracy * accuracy * rho;
        direction = z;
        for (int iteration = 0; iteration < most_iterations && rho > enough; ++iteration) {
            for (std::size_t p = 0; p < n; ++p) {
                product[p] = shift_ * direction[p];
            }
            if (monitor_.poll(2 * entries_.size())) {
                break;
            }
            for (std::size_t i = 0; i + 1 < starts_.size(); ++i) {
                const std::span<const Entry> own = row(i);
                double sum = 0.0;
                for (const Entry& entry : own) {
                    sum += entry.value * direction[entry.place];
                }
                for (const Entry& entry : own) {
                    product[entry.place] += sum * entry.value;
                }
            }
            const double curvature = dense_dot(direction.data(), product.data(), n);
            if (!(curvature > 0.0)) {
                break;
            }
            dense_axpy(rho / curvature, direction.data(), d.data(), n);
            dense_axpy(-rho / curvature, product.data(), residual.data(), n);
            const double next = precondition();
            for (std::size_t p = 0; p < n; ++p) {
                direction[p] = z[p] + next / rho * direction[p];
            }
            rho = next;
        }
        g = std::move(d);
        return true;
    }

    const L1Columns& columns_;
    Monitor& monitor_;
    std::vector<std::size_t> starts_, ends_;
    std::vector<Entry> entries_;
    std::vector<double> diagonal_, matrix_;
    std::vector<std::uint32_t> heavy_;
    std::optional<SymmetricMatrix> factor_;
    std::vector<double> block_;
    double pairs_ = 0.0, shift_ = 0.0, block_shift_ = 0.0;
};

}  // namespace maxmargin
