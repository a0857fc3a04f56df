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
#include <tuple>
#include <utility>
#include <vector>

#include "numeric/numbers.hpp"
#include "numeric/simd.hpp"

namespace maxmargin {

class MasterProblem {
  public:
    // With the cut of zeros alone, which has number 0 and never goes away.
    MasterProblem() : rows_{{0.0}}, offsets_{0.0}, shares_{1.0}, used_{0} {}

    std::size_t size() const { return offsets_.size(); }
    double share(std::size_t k) const { return shares_[k]; }

    // `products` are those of the new cut with all cuts before it, the first of them 0, and with itself.
    void add(std::vector<double> products, double offset) {
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
        choose_shift();
        // The cut of zeros first: then the first row of the factor takes the shift out of all others exactly.
        const auto zero = std::find(used_.begin(), used_.end(), std::size_t{0});
        if (zero != used_.end()) {
            std::rotate(used_.begin(), zero, zero + 1);
        }
        factorise(0);
        if (used_.empty()) {  // by rounding
            append(0);
        }
        make_sum_one();
        move_to_optimum_of_used();
        for (std::size_t step = 0; step < 20 * size() + 100; ++step) {
            find_slopes();
            const std::size_t k = steepest();
            const std::size_t any = used_.front();
            if (is_used(k) || slopes_[k] - noise_[k] <= slopes_[any] + noise_[any]) {
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
    static constexpr double rounding = 1e-15;

    double product(std::size_t k, std::size_t l) const { return k < l ? rows_[l][k] : rows_[k][l]; }
    double shifted(std::size_t k, std::size_t l) const { return product(k, l) + shift_; }
    bool is_used(std::size_t k) const { return std::find(used_.begin(), used_.end(), k) != used_.end(); }

    // Squares of cuts differ by many orders of magnitude, since late cuts have few violated rows. The shift must not
    // drown the small ones, and not vanish before the offsets, which would make a nearly linear problem singular.
    void choose_shift() {
        shift_ = infinity;
        double offset = 0.0;
        for (std::size_t k = 1; k < size(); ++k) {
            shift_ = rows_[k][k] > 0.0 ? std::min(shift_, rows_[k][k]) : shift_;
            offset = std::max(offset, std::abs(offsets_[k]));
        }
        shift_ = std::max(shift_ < infinity ? shift_ : 0.0, 1e-10 * offset);
        shift_ = shift_ > 0.0 ? shift_ : 1.0;
    }

    // What a share more of a cut adds to the value, b_k - (Gu)_k, and how much of that may be rounding.
    std::pair<double, double> slope(std::size_t k) const {
        double sum = offsets_[k], size = std::abs(sum);
        for (const std::size_t l : used_) {
            const double part = product(k, l) * shares_[l];
            sum -= part;
            size += std::abs(part);
        }
        return {sum, rounding * size};
    }

    void find_slopes() {
        slopes_.resize(size());
        noise_.resize(size());
        for (std::size_t k = 0; k < size(); ++k) {
            std::tie(slopes_[k], noise_[k]) = slope(k);
        }
    }

    std::size_t steepest() const {
        std::size_t best = 0;
        for (std::size_t k = 1; k < size(); ++k) {
            best = slopes_[k] - noise_[k] > slopes_[best] - noise_[best] ? k : best;
        }
        return best;
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
        if (!(sum > 0.0)) {
            shares_[used_.front()] = sum = 1.0;
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

    // To the optimum with sum u = 1 over the cuts in use, letting go of those that it would give a negative share.
    // False when nothing moves. It solves for the change of the shares and not for the shares themselves, which would
    // be lost among the offsets where cuts are nearly flat.
    bool move_to_optimum_of_used() {
        bool moved = false;
        while (true) {
            const std::size_t n = used_.size();
            std::vector<double> change(n), ones(n, 1.0);
            for (std::size_t i = 0; i < n; ++i) {
                change[i] = slope(used_[i]).first;
            }
            const double level = std::accumulate(change.begin(), change.end(), 0.0) / static_cast<double>(n);
            for (double& c : change) {
                c -= level;
            }
            solve_used(change);
            solve_used(ones);
            const double multiplier =
                std::accumulate(change.begin(), change.end(), 0.0) / std::accumulate(ones.begin(), ones.end(), 0.0);
            double step = 1.0;
            std::size_t blocking = n;
            for (std::size_t i = 0; i < n; ++i) {
                change[i] -= multiplier * ones[i];
                const double share = shares_[used_[i]];
                if (share + change[i] <= 0.0 && change[i] < 0.0 && share <= -step * change[i]) {
                    step = share / -change[i];
                    blocking = i;
                }
            }
            for (std::size_t i = 0; i < n; ++i) {
                shares_[used_[i]] += step * change[i];
                moved = moved || step * change[i] != 0.0;
            }
            if (blocking == n || n == 1) {
                break;
            }
            drop(blocking);
        }
        make_sum_one();
        return moved;
    }

    std::vector<std::vector<double>> rows_;  // G, lower triangle
    std::vector<double> offsets_;
    std::vector<double> shares_;
    std::vector<std::size_t> used_;
    std::vector<std::vector<double>> factor_;  // of G + shift 11' over the cuts in use, in their order
    std::vector<double> slopes_, noise_;
    double shift_ = 1.0;
};

}  // namespace maxmargin
