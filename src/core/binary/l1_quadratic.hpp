// A small quadratic problem with |w|_1, min 1/2 d'Hd - g'd + sum_p penalty_p |w_p + d_p|, with H as a matrix: epochs of
// coordinate descent find which weights are in use, and a Cholesky factor solves for these, as far as no weight changes
// its sign.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "numeric/cholesky.hpp"
#include "numeric/numbers.hpp"
#include "numeric/simd.hpp"
#include "run/monitor.hpp"

namespace maxmargin {

class L1Quadratic {
  public:
    // `H` is n x n, both triangles.
    L1Quadratic(const std::vector<double>& H, const std::vector<double>& penalties, Monitor& monitor)
        : H_(H), penalties_(penalties), n_(penalties.size()), monitor_(monitor) {
        double trace = 0.0;
        for (std::size_t p = 0; p < n_; ++p) {
            trace += H_[p * n_ + p];
        }
        shift_ = ridge * trace / static_cast<double>(std::max<std::size_t>(n_, 1));
    }

    // From w on, in place; `rest` is g at first and the slope of the quadratic part, g - H d, at the end. Ends when no
    // condition of the optimum is violated by more than `enough`.
    void minimise(std::vector<double>& w, std::vector<double>& rest, double enough) {
        for (int round = 0; round < most_rounds && !monitor_.ended(); ++round) {
            for (int epoch = 0; epoch < epochs_per_round; ++epoch) {
                sweep(w, rest, epoch % 2 == 1);
            }
            if (monitor_.poll(n_ * n_) || violation(w, rest) <= enough || !solve_signs(w, rest) ||
                violation(w, rest) <= enough) {
                return;
            }
        }
    }

  private:
    static constexpr int most_rounds = 30, epochs_per_round = 4, most_drops = 20;
    static constexpr double ridge = 1e-12;

    double violation(const std::vector<double>& w, const std::vector<double>& rest) const {
        double largest = 0.0;
        for (std::size_t p = 0; p < n_; ++p) {
            const double limit = penalties_[p];
            largest = std::max(
                largest, w[p] == 0.0 ? std::abs(rest[p]) - limit : std::abs(rest[p] - (w[p] > 0.0 ? limit : -limit)));
        }
        return largest;
    }

    void sweep(std::vector<double>& w, std::vector<double>& rest, bool backward) const {
        for (std::size_t q = 0; q < n_; ++q) {
            const std::size_t p = backward ? n_ - 1 - q : q;
            const double h = H_[p * n_ + p];
            if (!(h > 0.0)) {
                continue;
            }
            const double aim = w[p] + rest[p] / h, threshold = penalties_[p] / h;
            const double next = aim > threshold ? aim - threshold : aim < -threshold ? aim + threshold : 0.0;
            move(p, next - w[p], rest);
            w[p] = next;
        }
    }

    void move(std::size_t p, double d, std::vector<double>& rest) const {
        if (d != 0.0) {
            dense_axpy(-d, H_.data() + p * n_, rest.data(), n_);
        }
    }

    // The minimum for the signs as they are. A weight that would change its sign ends the step and leaves.
    bool solve_signs(std::vector<double>& w, std::vector<double>& rest) {
        for (int drop = 0; drop < most_drops; ++drop) {
            used_.clear();
            for (std::size_t p = 0; p < n_; ++p) {
                if ((w[p] != 0.0 || penalties_[p] == 0.0) && H_[p * n_ + p] > 0.0) {
                    used_.push_back(p);
                }
            }
            const std::size_t m = used_.size();
            if (m == 0) {
                return true;
            }
            SymmetricMatrix A(m), factor(m);
            std::vector<double> d(m);
            for (std::size_t a = 0; a < m; ++a) {
                const std::size_t p = used_[a];
                for (std::size_t b = 0; b <= a; ++b) {
                    A.row(a)[b] = H_[p * n_ + used_[b]];
                }
                d[a] = (rest[p] - penalties_[p] * (w[p] > 0.0 ? 1.0 : -1.0)) / shift_;
            }
            while (!factorise_shifted(A, 1.0 / shift_, factor, 1.0,
                                      [this](std::size_t work) { return monitor_.poll(work); })) {
                if (monitor_.ended() || !(shift_ < infinity)) {
                    return false;
                }
                shift_ *= 1000.0;  // columns that depend on each other
                for (double& value : d) {
                    value /= 1000.0;
                }
            }
            solve_factorised(factor, d);
            if (step_to_zero(w, rest, d)) {
                continue;
            }
            double t = 1.0;
            std::size_t first = m;
            for (std::size_t a = 0; a < m; ++a) {
                const std::size_t p = used_[a];
                if (penalties_[p] > 0.0 && w[p] * (w[p] + t * d[a]) < 0.0) {
                    t = -w[p] / d[a];
                    first = a;
                }
            }
            for (std::size_t a = 0; a < m; ++a) {
                const std::size_t p = used_[a];
                const double next = a == first ? 0.0 : w[p] + t * d[a];
                move(p, next - w[p], rest);
                w[p] = next;
            }
            if (first == m) {
                return true;
            }
        }
        return true;
    }

    // The whole step with all weights that would change their sign at zero, if more than a few would and that is lower.
    bool step_to_zero(std::vector<double>& w, std::vector<double>& rest, const std::vector<double>& d) {
        std::size_t changes = 0;
        for (std::size_t a = 0; a < d.size(); ++a) {
            changes += penalties_[used_[a]] > 0.0 && w[used_[a]] * (w[used_[a]] + d[a]) < 0.0 ? 1 : 0;
        }
        if (changes < 2) {
            return false;
        }
        std::vector<double> next_rest = rest, moved(d.size());
        // The change of the objective is sum_p penalty_p (|w + m| - |w|) - m'(rest + next_rest) / 2.
        double change = 0.0;
        for (std::size_t a = 0; a < d.size(); ++a) {
            const std::size_t p = used_[a];
            const double aim = w[p] + d[a], next = penalties_[p] > 0.0 && w[p] * aim < 0.0 ? 0.0 : aim;
            moved[a] = next - w[p];
            move(p, moved[a], next_rest);
            change += penalties_[p] * (std::abs(next) - std::abs(w[p]));
        }
        for (std::size_t a = 0; a < d.size(); ++a) {
            change -= 0.5 * moved[a] * (rest[used_[a]] + next_rest[used_[a]]);
        }
        if (!(change < 0.0)) {
            return false;
        }
        for (std::size_t a = 0; a < d.size(); ++a) {
            const std::size_t p = used_[a];
            const double aim = w[p] + d[a];
            w[p] = penalties_[p] > 0.0 && w[p] * aim < 0.0 ? 0.0 : aim;
        }
        rest.swap(next_rest);
        return true;
    }

    const std::vector<double>&H_, &penalties_;
    std::size_t n_;
    Monitor& monitor_;
    double shift_ = 0.0;
    std::vector<std::size_t> used_;
};

}  // namespace maxmargin
