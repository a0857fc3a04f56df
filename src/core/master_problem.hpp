// The master problem of the cutting-plane method (OP3 of Joachims 2006), over cuts R(v) >= b_k - a_k.v of a risk R:
//
//     max  b'u - 1/2 u'Gu   with u >= 0, sum u <= 1,  G_kl = a_k.a_l
//
// so that w = sum u_k a_k minimises 1/2 |w|^2 + max_k (b_k - a_k.w). That the risk is never negative is a cut of its
// own, a = 0 and b = 0; with it sum u = 1. On that plane G may be replaced by G + s 11', which is regular as soon as
// the cuts in use are affinely independent: so an active set and its Cholesky factor solve the problem exactly, as in
// Wolfe's method for the nearest point of a polytope.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

#include "simd.hpp"

namespace maxmargin {

class MasterProblem {
  public:
    // With the cut of zeros alone, which has number 0 and never goes away.
    MasterProblem() : rows_{{0.0}}, offsets_{0.0}, shares_{1.0}, used_{0} {}

    std::size_t size() const { return offsets_.size(); }
    double share(std::size_t k) const { return shares_[k]; }

    // `products` are those of the new cut with all cuts before it, the first of them 0, and with itself.
    void add(std::vector<double> products, double offset) {
        largest_ = std::max(largest_, products.back());
        rows_.push_back(std::move(products));
        offsets_.push_back(offset);
        shares_.push_back(0.0);
    }

    // `kept` has an entry per cut; cuts in use and number 0 must be kept.
    void keep(const std::vector<bool>& kept) {
        std::vector<std::size_t> numbers;
        for (std::size_t k = 0; k < size(); ++k) {
            if (kept[k]) {
                numbers.push_back(k);
            }
        }
        std::vector<std::size_t> used;
        for (std::size_t n = 0; n < numbers.size(); ++n) {
            const std::size_t k = numbers[n];
            std::vector<double> row(n + 1);
            for (std::size_t m = 0; m <= n; ++m) {
                row[m] = rows_[k][numbers[m]];
            }
            rows_[n] = std::move(row);
            offsets_[n] = offsets_[k];
            shares_[n] = shares_[k];
            if (std::find(used_.begin(), used_.end(), k) != used_.end()) {
                used.push_back(n);
            }
        }
        rows_.resize(numbers.size());
        offsets_.resize(numbers.size());
        shares_.resize(numbers.size());
        used_ = std::move(used);
    }

    // From the shares of the last solution to the optimum. Every step raises the value, so there are finitely many; the
    // limit only guards against rounding.
    void solve() {
        shift_ = largest_ > 0.0 ? largest_ : 1.0;
        factorise(0);
        make_sum_one();
        const double accuracy = 1e-14 * (shift_ + *std::max_element(offsets_.begin(), offsets_.end()));
        for (std::size_t step = 0; step < 20 * size() + 100; ++step) {
            find_slopes();
            const std::size_t k = steepest();
            if (slopes_[k] <= slopes_[used_.front()] + accuracy || is_used(k)) {
                break;
            }
            if (!append(k)) {
                exchange(k);
            }
            if (!move_to_optimum_of_used()) {
                break;
            }
        }
    }

  private:
    static constexpr double dependent = 1e-12;  // pivot over diagonal of a cut that is a mixture of the ones in use

    double product(std::size_t k, std::size_t l) const { return k < l ? rows_[l][k] : rows_[k][l]; }
    double shifted(std::size_t k, std::size_t l) const { return product(k, l) + shift_; }
    bool is_used(std::size_t k) const { return std::find(used_.begin(), used_.end(), k) != used_.end(); }

    // What a share more of each cut adds to the value: b - Gu.
    void find_slopes() {
        slopes_ = offsets_;
        for (std::size_t k = 0; k < size(); ++k) {
            for (const std::size_t l : used_) {
                slopes_[k] -= product(k, l) * shares_[l];
            }
        }
    }

    std::size_t steepest() const {
        return static_cast<std::size_t>(std::max_element(slopes_.begin(), slopes_.end()) - slopes_.begin());
    }

    // The rows of the Cholesky factor from `first` on. A cut that depends on those before it, which only rounding can
    // bring about, is let go.
    void factorise(std::size_t first) {
        std::vector<std::size_t> rest(used_.begin() + static_cast<std::ptrdiff_t>(first), used_.end());
        used_.resize(first);
        factor_.resize(first);
        for (const std::size_t k : rest) {
            if (!append(k)) {
                shares_[k] = 0.0;
            }
        }
    }

    void make_sum_one() {
        double sum = 0.0;
        for (const std::size_t k : used_) {
            sum += shares_[k];
        }
        for (const std::size_t k : used_) {
            shares_[k] /= sum;
        }
    }

    // One more row of the factor; false when the cut is a mixture of the ones in use, and then nothing is changed.
    bool append(std::size_t k) {
        std::vector<double> row(used_.size() + 1);
        for (std::size_t n = 0; n < used_.size(); ++n) {
            row[n] = (shifted(k, used_[n]) - dense_dot(row.data(), factor_[n].data(), n)) / factor_[n][n];
        }
        const double diagonal = shifted(k, k);
        const double pivot = diagonal - dense_dot(row.data(), row.data(), used_.size());
        if (!(pivot > dependent * diagonal)) {
            return false;
        }
        row.back() = std::sqrt(pivot);
        factor_.push_back(std::move(row));
        used_.push_back(k);
        return true;
    }

    // Cut k is a mixture of cuts in use: give their place to it until one of them has no share left.
    void exchange(std::size_t k) {
        std::vector<double> mixture(used_.size());
        for (std::size_t n = 0; n < used_.size(); ++n) {
            mixture[n] = shifted(k, used_[n]);
        }
        solve_used(mixture);
        double most = 2.0;  // more than there is to give
        std::size_t first = used_.size();
        for (std::size_t n = 0; n < used_.size(); ++n) {
            if (mixture[n] > 0.0 && mixture[n] * most >= shares_[used_[n]]) {
                most = shares_[used_[n]] / mixture[n];
                first = n;
            }
        }
        if (first == used_.size()) {
            return;
        }
        for (std::size_t n = 0; n < used_.size(); ++n) {
            shares_[used_[n]] -= most * mixture[n];
        }
        shares_[k] += most;
        drop(first);
        if (!append(k)) {
            shares_[k] = 0.0;
            make_sum_one();
        }
    }

    void drop(std::size_t n) {
        shares_[used_[n]] = 0.0;
        used_.erase(used_.begin() + static_cast<std::ptrdiff_t>(n));
        factorise(n);
    }

    // L L' x = b in place of b, over the cuts in use.
    void solve_used(std::vector<double>& b) const {
        for (std::size_t i = 0; i < b.size(); ++i) {
            b[i] = (b[i] - dense_dot(factor_[i].data(), b.data(), i)) / factor_[i][i];
        }
        for (std::size_t i = b.size(); i-- > 0;) {
            b[i] /= factor_[i][i];
            dense_axpy(-b[i], factor_[i].data(), b.data(), i);
        }
    }

    // The optimum with sum u = 1 over the cuts in use, letting go of those that it would give a negative share. False
    // when the last cut cannot have any.
    bool move_to_optimum_of_used() {
        bool moved = false;
        while (true) {
            std::vector<double> target(used_.size()), ones(used_.size(), 1.0);
            for (std::size_t n = 0; n < used_.size(); ++n) {
                target[n] = offsets_[used_[n]];
            }
            solve_used(target);
            solve_used(ones);
            const double multiplier = (std::accumulate(target.begin(), target.end(), 0.0) - 1.0) /
                                      std::accumulate(ones.begin(), ones.end(), 0.0);
            double step = 1.0;
            std::size_t blocking = used_.size();
            for (std::size_t n = 0; n < used_.size(); ++n) {
                target[n] -= multiplier * ones[n];
                const double share = shares_[used_[n]];
                if (target[n] <= 0.0 && share <= step * (share - target[n])) {
                    step = share / (share - target[n]);
                    blocking = n;
                }
            }
            for (std::size_t n = 0; n < used_.size(); ++n) {
                shares_[used_[n]] += step * (target[n] - shares_[used_[n]]);
            }
            moved = moved || step > 0.0;
            if (blocking == used_.size()) {
                return moved;
            }
            if (used_.size() == 1) {
                return false;
            }
            drop(blocking);
        }
    }

    std::vector<std::vector<double>> rows_;  // G, lower triangle
    std::vector<double> offsets_;
    std::vector<double> shares_;
    std::vector<std::size_t> used_;
    std::vector<std::vector<double>> factor_;  // of G + shift 11' over the cuts in use, in their order
    std::vector<double> slopes_;
    double largest_ = 0.0;  // square of a cut
    double shift_ = 1.0;
};

}  // namespace maxmargin
