// The rows a Newton step has to look at. A row far on the right side of its margin has slope 0, and one far on the
// wrong side of a smoothed hinge the slope U_i; since |x_i.(w - w0)| <= |x_i| |w - w0|, they surely keep it while w
// stays within a radius of w0. The others are near, with their slacks kept side by side; of the far ones only sums are
// needed.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "binary/loss.hpp"
#include "binary/problem.hpp"
#include "numeric/huge_array.hpp"
#include "run/chunks.hpp"
#include "run/random.hpp"

namespace maxmargin {

template <class Rows>
class NearRows {
  public:
    NearRows(const BinaryProblem<Rows>& problem, Team* team)
        : problem_(problem), team_(team), far_sum_(problem.features() + 1) {}

    HugeVector<RowIndex> rows;
    HugeVector<double> C;
    HugeVector<double> slack;
    HugeVector<double> slope;  // sign_i d.x_i: how fast the slack falls along a step d

    // Rows of slope U_i, or -U_i, that are far: sums of C_i, of C_i times what a unit of slope adds to the dual, and of
    // C_i sign_i x_i with the sign of the slope.
    double far_C() const { return far_C_; }
    double far_targets() const { return far_targets_; }
    const std::vector<double>& far_sum() const { return far_sum_; }

    double radius() const { return radius_; }
    bool covers(double distance) const { return distance <= radius_; }
    double distance(const std::vector<double>& w) const {
        double sum = 0.0;
        for (std::size_t j = 0; j < w.size(); ++j) {
            sum += (w[j] - center_[j]) * (w[j] - center_[j]);
        }
        return std::sqrt(sum);
    }

    // One pass over all rows: exact slacks at w, and which rows are near within `radius` of it. Far rows get their
    // alpha.
    void collect(const std::vector<double>& w, const Loss& loss, double radius) {
        problem_.with_view([&](const auto& problem) { collect_from(problem, w, loss, radius); });
    }

    // About one row in `one_in` in place of all of them. None is far.
    void sample(const std::vector<double>& w, std::size_t one_in) {
        center_ = w;
        radius_ = infinity;
        work_ = 0;
        far_C_ = far_targets_ = 0.0;
        std::fill(far_sum_.begin(), far_sum_.end(), 0.0);
        rows.clear();
        C.clear();
        slack.clear();
        for (std::size_t i = 0; i < problem_.size(); ++i) {
            const Variable& v = problem_.variables[i];
            if (is_sampled(i, one_in) && v.takes_part()) {
                rows.push_back(static_cast<RowIndex>(i));
                C.push_back(v.C());
                slack.push_back(problem_.slack(i, w.data()));
                work_ += problem_.rows.stored(i);
            }
        }
        slope.resize(rows.size());
    }

    // Those of the near rows that are near within a smaller `radius` of w as well, by the slacks that are known at w:
    // no row is read again but those that become far with a slope.
    void shrink(const std::vector<double>& w, const Loss& loss, double radius) {
        if (!loss.is_flat_at_zero() && !std::isfinite(loss.upper_per_C)) {
            return;  // such a loss is curved everywhere
        }
        radius = std::min(radius, radius_ - distance(w));
        center_ = w;
        radius_ = radius;
        const Chunks near = chunks(w.size());
        ChunkSums far(near, w.size());
        std::vector<Part> parts(near.count());
        problem_.with_view([&](const auto& problem) {
            near.for_each(team_, [&](std::size_t chunk, std::size_t begin, std::size_t end) {
                parts[chunk] = shrink_part(problem, loss, radius, begin, end, far.of(chunk));
            });
        });
        close_ranks(near, parts);
        far.add_to(far_sum_);
    }

    void find_slopes(const std::vector<double>& direction) {
        problem_.with_view([&](const auto& problem) {
            chunks().for_each(team_, [&](std::size_t, std::size_t begin, std::size_t end) {
                for (std::size_t k = begin; k < end; ++k) {
                    slope[k] = problem.margin(rows[k], direction.data());
                }
            });
        });
    }

    // Loops over the near rows, which read them or only what is kept of them.
    Chunks chunks(std::size_t width = 1) const { return Chunks(rows.size(), work_, width); }
    Chunks short_chunks() const { return Chunks(rows.size(), rows.size()); }
    Team* team() const { return team_; }

    // Slacks along the step, to weights that are `length` long, or were on the way.
    void move(double t, double length) {
        Chunks(rows.size(), moves_per_value * rows.size())
            .for_each(team_, [&](std::size_t, std::size_t begin, std::size_t end) {
                for (std::size_t k = begin; k < end; ++k) {
                    slack[k] -= t * slope[k];
                }
            });
        drift_ += length;
        moves_ += 1.0;
    }
    // The lengths of all moves, and their number, since slacks were computed from rows: what their rounding errors grow
    // with.
    double drift() const { return drift_; }
    double moves() const { return moves_; }
    // These are of all rows, as they were collected: a bound of their lengths, the sum of C_i, and the largest target.
    double longest() const { return std::sqrt(square_ + problem_.bias.value * problem_.bias.value); }
    double all_C() const { return all_C_; }
    std::size_t collected_chunks() const { return collected_chunks_; }
    double farthest_target() const { return target_; }

  private:
    static constexpr std::size_t moves_per_value = 2;  // to move a slack takes so many stored values' time

    // What one chunk of rows has found, beside the near rows.
    struct Part {
        std::size_t count = 0, work = 0;
        double far_C = 0.0, far_targets = 0.0;
        double all_C = 0.0, square = 0.0, target = 0.0;
    };

    template <class Problem>
    void collect_from(const Problem& problem, const std::vector<double>& w, const Loss& loss, double radius) {
        center_ = w;
        radius_ = radius;
        drift_ = moves_ = 0.0;
        const Chunks all(problem.size(), problem_.rows.stored(), w.size());
        collected_chunks_ = all.count();
        ChunkSums far(all, w.size());
        std::vector<Part> parts(all.count());
        rows.resize(problem.size());
        C.resize(problem.size());
        slack.resize(problem.size());
        all.for_each(team_, [&](std::size_t chunk, std::size_t begin, std::size_t end) {
            parts[chunk] = collect_part(problem, w, loss, radius, begin, end, far.of(chunk));
        });
        far_C_ = far_targets_ = all_C_ = square_ = target_ = 0.0;
        close_ranks(all, parts);
        for (const Part& part : parts) {
            all_C_ += part.all_C;
            square_ = std::max(square_, part.square);
            target_ = std::max(target_, part.target);
        }
        std::fill(far_sum_.begin(), far_sum_.end(), 0.0);
        far.add_to(far_sum_);
    }

    // The near rows that each chunk has left at its beginning come to stand one after the other; far ones are counted.
    void close_ranks(const Chunks& chunks, const std::vector<Part>& parts) {
        std::size_t count = 0;
        work_ = 0;
        for (std::size_t chunk = 0; chunk < parts.size(); ++chunk) {
            const Part& part = parts[chunk];
            move_down(rows, chunks.begin(chunk), count, part.count);
            move_down(C, chunks.begin(chunk), count, part.count);
            move_down(slack, chunks.begin(chunk), count, part.count);
            count += part.count;
            work_ += part.work;
            far_C_ += part.far_C;
            far_targets_ += part.far_targets;
        }
        rows.resize(count);
        C.resize(count);
        slack.resize(count);
        slope.resize(count);
    }

    template <class T>
    static void move_down(HugeVector<T>& values, std::size_t from, std::size_t to, std::size_t count) {
        if (from != to) {
            std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(from), count,
                        values.begin() + static_cast<std::ptrdiff_t>(to));
        }
    }

    // The near rows of a chunk go to its own part of the arrays.
    template <class Problem>
    Part collect_part(const Problem& problem, const std::vector<double>& w, const Loss& loss, double radius,
                      std::size_t begin, std::size_t end, double* far_sum) {
        Part part;
        std::size_t place = begin;
        for (std::size_t i = begin; i < end; ++i) {
            const Variable& v = problem.variables[i];
            if (!v.takes_part()) {
                continue;
            }
            part.all_C += v.C();
            part.square = std::max(part.square, v.curvature);
            part.target = std::max(part.target, std::abs(v.target));
            const double z = problem.slack(i, w.data());
            const double side = far_side(problem, i, z, loss, radius);
            if (std::isnan(side)) {
                rows[place] = static_cast<RowIndex>(i);
                C[place] = v.C();
                slack[place] = z;
                ++place;
                part.work += problem.rows.stored(i);
            } else {
                set_far(problem, i, side, loss, part.far_C, part.far_targets, far_sum);
            }
        }
        part.count = place - begin;
        return part;
    }

    // Those of a chunk that are still near move to its beginning.
    template <class Problem>
    Part shrink_part(const Problem& problem, const Loss& loss, double radius, std::size_t begin, std::size_t end,
                     double* far_sum) {
        Part part;
        std::size_t place = begin;
        for (std::size_t k = begin; k < end; ++k) {
            const std::size_t i = rows[k];
            const double z = slack[k];
            const double side = far_side(problem, i, z, loss, radius);
            if (std::isnan(side)) {
                rows[place] = rows[k];
                C[place] = C[k];
                slack[place] = z;
                ++place;
                part.work += problem.rows.stored(i);
            } else {
                set_far(problem, i, side, loss, part.far_C, part.far_targets, far_sum);
            }
        }
        part.count = place - begin;
        return part;
    }

    // The sign of the slope that a row of slack z surely keeps within `radius`, 0 if that is flat; NaN for a near row.
    template <class Problem>
    static double far_side(const Problem& problem, std::size_t i, double z, const Loss& loss, double radius) {
        const Variable& v = problem.variables[i];
        const double constant = problem.bias.value * problem.bias.value;
        const double wide = loss.epsilon + loss.upper_per_C * loss.diagonal_times_C;
        // A little more than the bound, for rounding.
        const double reach = 1e-9 * std::max(std::abs(v.target), 1.0) +
                             1.000001 * radius * std::sqrt(problem.squared_norm(i) + constant);
        if (loss.is_one_sided() ? z < -reach : std::abs(z) < loss.epsilon - reach) {
            return 0.0;
        }
        if (z > wide + reach || (!loss.is_one_sided() && -z > wide + reach)) {
            return z > 0.0 ? 1.0 : -1.0;
        }
        return std::numeric_limits<double>::quiet_NaN();
    }

    template <class Problem>
    static void set_far(const Problem& problem, std::size_t i, double side, const Loss& loss, double& far_C,
                        double& far_targets, double* far_sum) {
        Variable& v = problem.variables[i];
        v.alpha = side == 0.0 ? 0.0 : side * loss.upper(v.C());
        if (side != 0.0) {
            far_C += v.C();
            far_targets += v.C() * (side * v.target - loss.epsilon);
            problem.add_row(i, side * v.signed_C, far_sum);
        }
    }

    const BinaryProblem<Rows>& problem_;
    Team* team_;
    std::size_t work_ = 0;  // stored values of the near rows
    std::size_t collected_chunks_ = 1;
    std::vector<double> center_;
    double radius_ = 0.0;
    double drift_ = 0.0, moves_ = 0.0, all_C_ = 0.0, square_ = 0.0, target_ = 0.0;
    double far_C_ = 0.0, far_targets_ = 0.0;
    std::vector<double> far_sum_;
};

}  // namespace maxmargin
