// The linear system of a Newton step, (I + sum over curved rows of x_i x_i' / D_i) d = -g: as a matrix, or by conjugate
// gradients.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <span>
#include <vector>

#include "binary/loss.hpp"
#include "binary/problem.hpp"
#include "numeric/cholesky.hpp"
#include "numeric/huge_array.hpp"
#include "run/chunks.hpp"
#include "run/monitor.hpp"
#include "run/team.hpp"

namespace maxmargin {

// Keeps sum over curved rows of C_i x_i x_i', changed only for rows that become curved or cease to be.
template <class Rows>
class DenseHessian {
  public:
    DenseHessian(const BinaryProblem<Rows>& problem, Monitor& monitor)
        : problem_(problem), monitor_(monitor), size_(problem.features() + 1), scatter_(size_), factor_(size_) {}

    // `rows` are those that are curved now, in rising order; all others are not. When time runs out meanwhile, the sum
    // is useless.
    void set_curved(std::span<const RowIndex> rows) {
        find_changes(rows);
        if (changing_.size() >= rows.size()) {
            reset();
            find_changes(rows);
        }
        if (add_changes()) {
            members_.assign(rows.begin(), rows.end());
        }
    }

    // In place of -g in `d`. False when rounding has made the matrix indefinite.
    bool solve(double diagonal_times_C, std::vector<double>& d) {
        const double scale = 1.0 / diagonal_times_C, bias_curvature = scale * scatter_.row(size_ - 1)[size_ - 1];
        // A free bias gets a trace of a regulariser, or without curved rows one that holds it where it is.
        const double free_last = bias_curvature > 0.0 ? 1e-12 * bias_curvature : 1.0;
        Team* const team = size_ < worth_sharing ? nullptr : monitor_.team();
        return solve_shifted(
            scatter_, scale, factor_, d, problem_.bias.free ? free_last : 1.0,
            [this](std::size_t work) { return monitor_.poll(work); },
            [team](std::size_t count, const auto& body) { for_all(team, count, body); });
    }

    const SymmetricMatrix& sum() const { return scatter_; }

    // What the last step has cost apart from passes over the rows, in stored values.
    std::size_t work() const { return changed_work_ + size_ * size_ * size_ / 6; }

    // Forget the sum, so that the next set_curved builds it anew without the rounding errors of many small changes.
    void reset() {
        scatter_.clear();
        members_.clear();
    }

  private:
    static constexpr std::size_t worth_sharing = 256;               // rows of a factorisation
    static constexpr std::size_t most_work = std::size_t{1} << 24;  // products between two looks at the clock
    static constexpr std::size_t fewest_chunks = 8, bands_per_thread = 4;
    static constexpr std::size_t worth_waking = std::size_t{1} << 19;
    static constexpr std::size_t merging = 4;  // stored values whose time it takes to compare a row of two lists

    // Members that are not among `rows`, to be taken off, and after them those of `rows` that are not members.
    void find_changes(std::span<const RowIndex> rows) {
        const Chunks chunks(problem_.size(), merging * (members_.size() + rows.size()));
        leaving_.resize(chunks.count());
        entering_.resize(chunks.count());
        chunks.for_each(monitor_.team(), [&](std::size_t chunk, std::size_t begin, std::size_t end) {
            const std::span<const RowIndex> before = between(members_, begin, end), now = between(rows, begin, end);
            const auto difference = [](std::span<const RowIndex> all, std::span<const RowIndex> others) {
                std::vector<RowIndex> rest;
                std::set_difference(all.begin(), all.end(), others.begin(), others.end(), std::back_inserter(rest));
                return rest;
            };
            leaving_[chunk] = difference(before, now);
            entering_[chunk] = difference(now, before);
        });
        changing_.clear();
        for (const auto* lists : {&leaving_, &entering_}) {
            for (const std::vector<RowIndex>& list : *lists) {
                changing_.insert(changing_.end(), list.begin(), list.end());
            }
            leaving_count_ = lists == &leaving_ ? changing_.size() : leaving_count_;
        }
        scales_.resize(changing_.size());
        works_.resize(changing_.size());
        Chunks(changing_.size(), merging * changing_.size())
            .for_each(monitor_.team(), [&](std::size_t, std::size_t begin, std::size_t end) {
                for (std::size_t k = begin; k < end; ++k) {
                    const double C = problem_.variables[changing_[k]].C();
                    const std::size_t stored = problem_.rows.stored(changing_[k]);
                    scales_[k] = k < leaving_count_ ? -C : C;
                    works_[k] = static_cast<std::uint32_t>(stored * stored / 2 + stored);
                }
            });
    }

    // Of rows in rising order those from `begin` to `end`.
    static std::span<const RowIndex> between(std::span<const RowIndex> rows, std::size_t begin, std::size_t end) {
        const auto first = std::lower_bound(rows.begin(), rows.end(), begin);
        return {first, std::lower_bound(first, rows.end(), end)};
    }

    // Small matrices, one for each chunk of many rows.
    void add_chunks(std::span<const RowIndex> rows, const double* scales, const Chunks& chunks) {
        std::vector<SymmetricMatrix> sums(chunks.count(), SymmetricMatrix(size_));
        chunks.for_each(monitor_.team(), [&](std::size_t chunk, std::size_t begin, std::size_t end) {
            add(rows.subspan(begin, end - begin), scales + begin, sums[chunk], 0, size_);
        });
        for (const SymmetricMatrix& sum : sums) {
            for (std::size_t k = 0; k < size_; ++k) {
                dense_axpy(1.0, sum.row(k), scatter_.row(k), k + 1);
            }
        }
    }

    void add(std::span<const RowIndex> rows, const double* scales, SymmetricMatrix& sum, std::size_t first,
             std::size_t past) const {
        const std::size_t last = size_ - 1;
        problem_.rows.add_outers(rows, scales, sum, first, past);
        if (problem_.bias.value == 0.0 || past != size_) {
            return;
        }
        problem_.with_view([&](const auto& problem) {
            for (std::size_t k = 0; k < rows.size(); ++k) {
                problem.add_row(rows[k], scales[k] * problem.bias.value, sum.row(last));
            }
        });
    }

    // False when time has run out. Each band of the matrix gets all its rows in their order, so that it does not matter
    // how many bands and threads there are.
    bool add_changes() {
        changed_work_ = std::accumulate(works_.begin(), works_.end(), std::size_t{0});
        for (std::size_t begin = 0, end = 0; begin < changing_.size(); begin = end) {
            std::size_t work = 0;
            for (; end < changing_.size() && work < most_work; ++end) {
                work += works_[end];
            }
            const std::span<const RowIndex> rows(changing_.data() + begin, end - begin);
            const Chunks chunks(rows.size(), work, size_ * size_);
            if (chunks.count() >= fewest_chunks) {
                add_chunks(rows, scales_.data() + begin, chunks);
                if (monitor_.poll(work)) {
                    return false;
                }
                continue;
            }
            const double* scales = scales_.data() + begin;
            auto add_band = [&](std::size_t first, std::size_t past) { add(rows, scales, scatter_, first, past); };
            Team* const team = monitor_.team();
            if (team == nullptr || work < worth_waking) {
                add_band(0, size_);
            } else {
                const std::size_t bands = bands_per_thread * team->size();
                // Bands of a triangle that have about the same area.
                auto edge = [&](std::size_t band) {
                    const double share = std::sqrt(static_cast<double>(band) / static_cast<double>(bands));
                    return band == bands ? size_ : static_cast<std::size_t>(share * static_cast<double>(size_));
                };
                for_all(team, bands, [&](std::size_t band) { add_band(edge(band), edge(band + 1)); });
            }
            if (monitor_.poll(work)) {
                return false;
            }
        }
        return true;
    }

    const BinaryProblem<Rows>& problem_;
    Monitor& monitor_;
    std::size_t size_;
    HugeVector<RowIndex> members_, changing_;                // the curved rows of the sum, in rising order
    std::vector<std::vector<RowIndex>> leaving_, entering_;  // of each chunk
    std::size_t leaving_count_ = 0;                          // so many of the rows that change come first
    HugeVector<double> scales_;                              // of the rows that change
    HugeVector<std::uint32_t> works_;                        // likewise, in stored values
    std::size_t changed_work_ = 0;                           // of all of them
    SymmetricMatrix scatter_;
    SymmetricMatrix factor_;
};

// Conjugate gradients with the diagonal of the Hessian as preconditioner, to some hundredths of the gradient or for
// `most_rounds`: more pays only when the curved rows are already the right ones, and then the next step is cheap. In
// place of -g in `d`.
template <class Rows>
void solve_by_conjugate_gradients(const BinaryProblem<Rows>& problem, const Loss& loss,
                                  std::span<const RowIndex> curved, std::size_t most_rounds, Monitor& monitor,
                                  std::vector<double>& d) {
    const std::size_t size = d.size();
    std::vector<double> diagonal(size, 1.0), residual = d, p(size), Hp(size), scaled(size);
    auto inverse = [&](RowIndex i) { return loss.inverse_diagonal(problem.variables[i].C()); };
    for (const RowIndex i : curved) {
        problem.rows.add_squares(i, inverse(i), diagonal.data());
        diagonal[size - 1] += inverse(i) * problem.bias.value * problem.bias.value;
    }
    const bool free_bias = problem.bias.free && diagonal.back() > 1.0;  // where no row is curved, it is held
    if (free_bias) {
        diagonal.back() -= 1.0;
    }
    auto precondition = [&] {
        std::transform(residual.begin(), residual.end(), diagonal.begin(), scaled.begin(), std::divides<>());
        return std::inner_product(residual.begin(), residual.end(), scaled.begin(), 0.0);
    };
    std::fill(d.begin(), d.end(), 0.0);
    double rho = precondition();
    const double enough = 1e-3 * rho;  // squared norms
    p = scaled;
    for (std::size_t iteration = 0; iteration < most_rounds && rho > enough && !monitor.look(); ++iteration) {
        Hp = p;
        Hp.back() = free_bias ? 0.0 : Hp.back();
        for (const RowIndex i : curved) {
            const double xp = problem.rows.dot(i, p.data()) + problem.bias.value * p[size - 1];
            problem.add_row(i, inverse(i) * xp, Hp.data());
        }
        const double curvature = std::inner_product(p.begin(), p.end(), Hp.begin(), 0.0);
        if (!(curvature > 0.0)) {
            break;
        }
        const double step = rho / curvature;
        for (std::size_t j = 0; j < size; ++j) {
            d[j] += step * p[j];
            residual[j] -= step * Hp[j];
        }
        const double previous = rho;
        rho = precondition();
        for (std::size_t j = 0; j < size; ++j) {
            p[j] = scaled[j] + rho / previous * p[j];
        }
    }
}

// The same step seen from the dual, for the alphas of the curved rows: D_i a_i = z_i at the weights of all alphas.
// Alphas read off the slacks of w, slack over D, are far from that until w is exact, and their weights further; here
// `w` stays the sum over the alphas. By conjugate gradients from the alphas as they are, within `most_work` stored
// values.
template <class Rows>
void solve_for_alphas(const BinaryProblem<Rows>& problem, const Loss& loss, std::span<const RowIndex> curved,
                      double most_work, Monitor& monitor, std::vector<double>& w) {
    const std::size_t count = curved.size();
    std::vector<double> residual(count), p(count), Qp(count), scaled(count), direction(w.size());
    const double column = problem.bias.free ? 0.0 : problem.bias.value * problem.bias.value;
    auto diagonal = [&](std::size_t k) { return loss.diagonal(problem.variables[curved[k]].C()); };
    double work_per_round = 0.0;
    for (std::size_t k = 0; k < count; ++k) {
        const double alpha = problem.variables[curved[k]].alpha;
        residual[k] = problem.slack(curved[k], w.data()) - loss.edge(alpha) - diagonal(k) * alpha;
        work_per_round += 1.0 + 2.0 * static_cast<double>(problem.rows.stored(curved[k]));
    }
    auto precondition = [&] {
        for (std::size_t k = 0; k < count; ++k) {
            scaled[k] = residual[k] / (problem.squared_norm(curved[k]) + column + diagonal(k));
        }
        return std::inner_product(residual.begin(), residual.end(), scaled.begin(), 0.0);
    };
    double rho = precondition();
    const double enough = 1e-8 * rho;  // squared norms
    p = scaled;
    for (double work = 0.0; work < most_work && rho > enough && !monitor.look(); work += work_per_round) {
        std::fill(direction.begin(), direction.end(), 0.0);
        for (std::size_t k = 0; k < count; ++k) {
            problem.add_row(curved[k], p[k] * problem.variables[curved[k]].sign(), direction.data());
        }
        if (problem.bias.free) {
            direction.back() = 0.0;
        }
        double curvature = 0.0;
        for (std::size_t k = 0; k < count; ++k) {
            Qp[k] = problem.margin(curved[k], direction.data()) + diagonal(k) * p[k];
            curvature += p[k] * Qp[k];
        }
        if (!(curvature > 0.0)) {
            break;
        }
        const double step = rho / curvature;
        for (std::size_t k = 0; k < count; ++k) {
            problem.variables[curved[k]].alpha += step * p[k];
            residual[k] -= step * Qp[k];
        }
        for (std::size_t j = 0; j < w.size(); ++j) {
            w[j] += step * direction[j];
        }
        const double previous = rho;
        rho = precondition();
        for (std::size_t k = 0; k < count; ++k) {
            p[k] = scaled[k] + rho / previous * p[k];
        }
    }
}

}  // namespace maxmargin
