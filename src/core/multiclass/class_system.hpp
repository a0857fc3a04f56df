// The linear system of a Newton step for several classes, (I + sum_i M_i (x) x_i x_i' / curvature_i) d = w(a) - w: as a
// matrix where there are few weights in all, by conjugate gradients where there are more.
//
// M_i has a row and a column for each class: a free variable changes by its own slack minus what all of them have in
// common, and moves the weights of its class and those of the row's own one in opposite directions.
//
// Threads share blocks of pairs of classes, classes, or chunks of rows, so that the bits do not depend on their number.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "multiclass/multiclass_problem.hpp"
#include "numeric/cholesky.hpp"
#include "run/chunks.hpp"
#include "run/monitor.hpp"
#include "run/team.hpp"

namespace maxmargin {

template <RowSource Rows>
class ClassSystem {
  public:
    ClassSystem(const MulticlassProblem<Rows>& problem, Monitor& monitor)
        : problem_(problem), monitor_(monitor), columns_(problem.rows().features() + 1) {}

    // Whether there are more weights than a matrix is good for.
    bool is_large() const { return problem_.classes() * columns_ > most_dense; }

    // With the free variables of the problem in the rows that are `curved`. A direction that is not to be `exact` may
    // come from a part of them. False when time has run out, or when rounding has made the matrix indefinite.
    bool solve(std::span<const RowIndex> curved, const std::vector<double>& gradient, double width, bool exact,
               std::vector<double>& direction) {
        curved_ = curved;
        width_ = width;
        return is_large() ? solve_by_products(gradient, direction) : solve_by_matrix(gradient, exact, direction);
    }

  private:
    static constexpr std::size_t most_dense = 2048;                 // weights
    static constexpr std::size_t rows_per_weight = 512;             // that are enough for a matrix
    static constexpr std::size_t most_work = std::size_t{1} << 24;  // products between two looks at the clock
    static constexpr std::size_t worth_sharing = 256;               // rows of a factorisation
    static constexpr double seconds_per_entry = 5e-9;               // of fresh memory
    static constexpr double good_enough = 0.1;                      // residual of a direction, over that of none
    static constexpr int most_products = 100;                       // for one direction

    // The free classes of a row, and what they have in common.
    struct Free {
        std::vector<std::uint32_t> classes;
        double common = 0.0, count = 0.0;

        double to_own() const { return 1.0 - count * common; }
    };

    // Rows and what their outer products are multiplied by.
    struct Outers {
        std::vector<RowIndex> rows;
        std::vector<double> scales;

        void add(RowIndex i, double scale) {
            if (scale != 0.0) {
                rows.push_back(i);
                scales.push_back(scale);
            }
        }
        void clear() {
            rows.clear();
            scales.clear();
        }
    };

    void find_free(std::size_t i, Free& free) const {
        const MulticlassRow& row = problem_.variables().rows[i];
        const bool bounded = problem_.formulation() == Formulation::weston_watkins;
        free.classes.clear();
        for (const ClassValue& v : problem_.variables().list(i)) {
            if (!bounded || v.value < row.C) {
                free.classes.push_back(v.which);
            }
        }
        free.count = static_cast<double>(free.classes.size());
        const bool tight = !bounded && row.sum >= row.C * (1.0 - 1e-12);  // then their sum cannot change
        free.common = 1.0 / (tight ? free.count : free.count + 1.0);
    }

    double scale_of(std::size_t i) const { return problem_.variables().rows[i].C / width_; }

    bool solve_by_matrix(const std::vector<double>& gradient, bool exact, std::vector<double>& direction) {
        if (!make_matrices() || !add_blocks(exact)) {
            return false;
        }
        const std::size_t classes = problem_.classes(), wide = problem_.width();
        std::vector<double> d(classes * columns_);
        for (std::size_t r = 0; r < classes; ++r) {
            for (std::size_t s = 0; s <= r; ++s) {
                const SymmetricMatrix& block = blocks_[pair(r, s)];
                for (std::size_t j = 0; j < columns_; ++j) {
                    double* row = hessian_.row(r * columns_ + j) + s * columns_;
                    for (std::size_t l = 0; l < columns_; ++l) {
                        row[l] = j < l ? block.row(l)[j] : block.row(j)[l];
                    }
                }
            }
            for (std::size_t j = 0; j < columns_; ++j) {
                d[r * columns_ + j] = gradient[j * wide + r];
            }
        }
        Team* const team = hessian_.size() < worth_sharing ? nullptr : monitor_.team();
        const bool solved = solve_shifted(
            hessian_, 1.0, factor_, d, 1.0, [this](std::size_t work) { return monitor_.poll(work); },
            [team](std::size_t count, const auto& body) { for_all(team, count, body); });
        for (std::size_t r = 0; r < classes && solved; ++r) {
            for (std::size_t j = 0; j < columns_; ++j) {
                direction[j * wide + r] = d[r * columns_ + j];
            }
        }
        return solved;
    }

    // When the first direction is looked for: they can take gigabytes, and so more time than there is. False if so.
    bool make_matrices() {
        if (!blocks_.empty()) {
            return true;
        }
        const std::size_t pairs = problem_.classes() * (problem_.classes() + 1) / 2;
        const std::size_t weights = problem_.classes() * columns_;
        const auto entries = static_cast<double>(pairs * columns_ * columns_ + 2 * weights * weights);
        if (monitor_.look(entries * seconds_per_entry)) {
            return false;
        }
        hessian_ = SymmetricMatrix(weights);
        factor_ = SymmetricMatrix(weights);
        blocks_.assign(pairs, SymmetricMatrix(columns_));
        outers_.resize(pairs);
        return true;
    }

    static std::size_t pair(std::size_t r, std::size_t s) { return r < s ? s * (s + 1) / 2 + r : r * (r + 1) / 2 + s; }

    // The blocks of the matrix, one for each pair of classes. False when time has run out.
    bool add_blocks(bool exact) {
        for (SymmetricMatrix& block : blocks_) {
            block.clear();
        }
        // Many more rows than weights say the same; a part of them will do until the end is near.
        const std::size_t stride = exact ? 1 : 1 + curved_.size() / (rows_per_weight * hessian_.size());
        for (std::size_t k = 0; k < curved_.size();) {
            for (Outers& outers : outers_) {
                outers.clear();
            }
            std::size_t work = 0;
            for (; k < curved_.size() && work < most_work; k += stride) {
                find_free(curved_[k], free_);
                list_outers(curved_[k], static_cast<double>(stride) * scale_of(curved_[k]));
                const std::size_t stored = problem_.rows().stored(curved_[k]), free = free_.classes.size();
                work += stored * stored * free * free;
            }
            for_all(work < Chunks::worth_waking ? nullptr : monitor_.team(), blocks_.size(),
                    [this](std::size_t n) { add_outers(outers_[n], blocks_[n]); });
            if (monitor_.poll(work)) {
                return false;
            }
        }
        return true;
    }

    void list_outers(RowIndex i, double scale) {
        const std::uint32_t label = problem_.variables().rows[i].label;
        for (std::size_t n = 0; n < free_.classes.size(); ++n) {
            for (std::size_t m = 0; m <= n; ++m) {
                const double part = scale * ((n == m ? 1.0 : 0.0) - free_.common);
                outers_[pair(free_.classes[n], free_.classes[m])].add(i, part);
            }
            outers_[pair(label, free_.classes[n])].add(i, -scale * free_.to_own());
        }
        outers_[pair(label, label)].add(i, scale * free_.count * free_.to_own());
    }

    // The sum of the outer products, the constant among the features.
    void add_outers(const Outers& outers, SymmetricMatrix& block) const {
        problem_.rows().add_outers(outers.rows, outers.scales.data(), block, 0, columns_);
        double* last = block.row(columns_ - 1);
        for (std::size_t k = 0; k < outers.rows.size(); ++k) {
            problem_.rows().axpy(outers.rows[k], outers.scales[k] * problem_.bias(), last);
            last[columns_ - 1] += outers.scales[k] * problem_.bias() * problem_.bias();
        }
    }

    // Conjugate gradients, to a residual that is good enough for a line search. The matrix without what couples classes
    // is the preconditioner: a small one to factorise for each class. A product costs the entries of the curved rows
    // times their free classes.
    bool solve_by_products(const std::vector<double>& gradient, std::vector<double>& direction) {
        if (!factorise_classes()) {
            return false;
        }
        const std::size_t size = gradient.size();
        std::fill(direction.begin(), direction.end(), 0.0);
        residual_ = gradient;
        precondition(residual_, scaled_);
        step_ = scaled_;
        double rho = dense_dot(residual_.data(), scaled_.data(), size);
        const double enough = good_enough * good_enough * rho;
        for (int count = 0; count < most_products && rho > enough; ++count) {
            if (!multiply(step_, product_)) {
                return false;
            }
            const double length = rho / dense_dot(step_.data(), product_.data(), size);
            dense_axpy(length, step_.data(), direction.data(), size);
            dense_axpy(-length, product_.data(), residual_.data(), size);
            precondition(residual_, scaled_);
            const double next = dense_dot(residual_.data(), scaled_.data(), size), ratio = next / rho;
            rho = next;
            for (std::size_t k = 0; k < size; ++k) {
                step_[k] = scaled_[k] + ratio * step_[k];
            }
        }
        return true;
    }

    // result = (I + sum_i M_i (x) x_i x_i' / curvature_i) d; false when time has run out.
    bool multiply(const std::vector<double>& d, std::vector<double>& result) {
        result = d;
        for (std::size_t begin = 0, end = 0; begin < curved_.size(); begin = end) {
            std::size_t work = 0;
            for (; end < curved_.size() && work < most_work; ++end) {
                const RowIndex i = curved_[end];
                work += 2 * (problem_.rows().stored(i) + 1) * (problem_.variables().rows[i].count + 1);
            }
            add_products(curved_.subspan(begin, end - begin), work, d, result);
            if (monitor_.poll(work)) {
                return false;
            }
        }
        return true;
    }

    void add_products(std::span<const RowIndex> rows, std::size_t work, const std::vector<double>& d,
                      std::vector<double>& result) {
        const Chunks chunks(rows.size(), work, d.size());
        ChunkSums sums(chunks, d.size());
        chunks.for_each(monitor_.team(), [&](std::size_t chunk, std::size_t begin, std::size_t end) {
            Free free;
            std::vector<double> scores;
            for (std::size_t k = begin; k < end; ++k) {
                const RowIndex i = rows[k];
                find_free(i, free);
                const double scale = scale_of(i), to_own = free.to_own();
                free.classes.push_back(problem_.variables().rows[i].label);
                problem_.some_scores(i, free.classes, d.data(), scores);
                const double own = scores.back();
                double sum = -own;
                for (const double score : scores) {
                    sum += score;
                }
                for (double& score : scores) {
                    score = scale * (score - free.common * sum - to_own * own);
                }
                scores.back() = scale * to_own * (free.count * own - sum);
                problem_.add(i, free.classes, scores, sums.of(chunk));
            }
        });
        sums.add_to(result);
    }

    // The factors of the blocks of that matrix on its diagonal, one for each class; false when time has run out.
    bool factorise_classes() {
        const std::size_t classes = problem_.classes();
        Team* const team = monitor_.team();
        if (factors_.empty()) {
            blocks_.assign(team == nullptr ? 1 : std::min(team->size(), classes), SymmetricMatrix(columns_));
            factors_.assign(classes, SymmetricMatrix(columns_));
            outers_.resize(classes);
        }
        for (Outers& outers : outers_) {
            outers.clear();
        }
        for (const RowIndex i : curved_) {
            find_free(i, free_);
            const double scale = scale_of(i);
            for (const std::uint32_t m : free_.classes) {
                outers_[m].add(i, scale * (1.0 - free_.common));
            }
            outers_[problem_.variables().rows[i].label].add(i, scale * free_.count * free_.to_own());
        }
        std::atomic<std::size_t> next{0};
        std::atomic<bool> failed{false};
        // Only the first thread may ask what time it is.
        auto work = [&](std::size_t member) {
            auto stop = [&, member](std::size_t cost) {
                if (member == 0 && monitor_.poll(cost)) {
                    failed = true;
                }
                return failed.load();
            };
            if (member >= blocks_.size()) {
                return;  // there are more threads than classes
            }
            for (std::size_t m = next++; m < classes && !failed; m = next++) {
                blocks_[member].clear();
                add_outers(outers_[m], blocks_[member]);
                if (stop(0) || !factorise_shifted(blocks_[member], 1.0, factors_[m], 1.0, stop)) {
                    failed = true;
                }
            }
        };
        if (team == nullptr) {
            work(0);
        } else {
            team->run(work);
        }
        return !failed && !monitor_.look();
    }

    void precondition(const std::vector<double>& given, std::vector<double>& result) {
        const std::size_t wide = problem_.width();
        result.assign(given.size(), 0.0);
        const bool large = columns_ * columns_ * factors_.size() >= Chunks::worth_waking;
        for_all(large ? monitor_.team() : nullptr, factors_.size(), [&](std::size_t m) {
            std::vector<double> own(columns_);
            for (std::size_t j = 0; j < columns_; ++j) {
                own[j] = given[j * wide + m];
            }
            solve_factorised(factors_[m], own);
            for (std::size_t j = 0; j < columns_; ++j) {
                result[j * wide + m] = own[j];
            }
        });
    }

    const MulticlassProblem<Rows>& problem_;
    Monitor& monitor_;
    std::size_t columns_;  // features and the constant
    std::span<const RowIndex> curved_;
    double width_ = 1.0;
    Free free_;
    std::vector<Outers> outers_;                              // of each block
    std::vector<SymmetricMatrix> blocks_;                     // symmetric, as all of the x x' are
    SymmetricMatrix hessian_{0}, factor_{0};                  // weights class by class
    std::vector<SymmetricMatrix> factors_;                    // one for each class
    std::vector<double> residual_, scaled_, product_, step_;  // of conjugate gradients
};

}  // namespace maxmargin
