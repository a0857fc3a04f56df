// Variables of a one-class problem strictly between their bounds. At the optimum their rows have one score, the offset,
// which is a linear system: one step solves it unless a bound is in the way.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "numeric/cholesky.hpp"
#include "rows/row_source.hpp"

namespace maxmargin {

struct WorkingRow {
    RowIndex row;
    RowIndex position;  // its place in the list of rows it was taken from
    double alpha, C, score, length;

    bool is_free() const { return alpha > 0.0 && alpha < C; }
    double room() const { return std::min(alpha, C - alpha); }
    // What the row adds to the difference of primal and dual value at the offset rho.
    double gap(double rho) const { return score > rho ? alpha * (score - rho) : (C - alpha) * (rho - score); }
};

template <RowSource Rows>
class FreeFace {
  public:
    // `scattered` is an array of zeros, and is one again afterwards. Of more than `most` free variables
    // it takes the few that have the most room.
    FreeFace(const Rows& rows, std::vector<WorkingRow>& members, std::vector<double>& w, std::vector<double>& scattered,
             std::size_t most, std::size_t few)
        : rows_(rows), members_(members), w_(w) {
        for (std::size_t k = 0; k < members.size(); ++k) {
            if (members[k].is_free()) {
                free_.push_back(k);
            }
        }
        if (free_.size() > most) {
            std::nth_element(free_.begin(), free_.begin() + static_cast<std::ptrdiff_t>(few), free_.end(),
                             [&](std::size_t a, std::size_t b) { return members[a].room() > members[b].room(); });
            free_.resize(few);
        }
        gram_ = SymmetricMatrix(free_.size());
        for (std::size_t k = 0; k < free_.size(); ++k) {
            const RowIndex row = members[free_[k]].row;
            rows.axpy(row, 1.0, scattered.data());
            for (std::size_t j = 0; j <= k; ++j) {
                gram_.row(k)[j] = rows.dot(members[free_[j]].row, scattered.data());
            }
            rows.for_each(row, [&](std::size_t column, double) { scattered[column] = 0.0; });
            ridge_ = std::max(ridge_, relative_ridge * gram_.row(k)[k]);
        }
    }

    std::size_t size() const { return free_.size(); }

    // One step, as far as the bounds allow; variables that meet theirs are free no more. Returns by how much the dual
    // value rises, zero where nothing is left to do.
    double step() {
        const std::size_t count = free_.size();
        SymmetricMatrix factor(count);
        if (count < 2 || !(ridge_ > 0.0) || !factorise_shifted(gram_, 1.0 / ridge_, factor)) {
            return 0.0;
        }
        std::vector<double> change = solve(factor);
        double length = 1.0, slope = 0.0;
        for (std::size_t k = 0; k < count; ++k) {
            const WorkingRow& member = members_[free_[k]];
            if (change[k] != 0.0) {
                const double room = change[k] > 0.0 ? member.C - member.alpha : member.alpha;
                length = std::min(length, room / std::abs(change[k]));
                slope -= change[k] * member.score;
            }
        }
        if (!(slope > 0.0) || !(length > 0.0)) {
            return 0.0;
        }
        move(change, length);
        return slope * length * (1.0 - 0.5 * length);
    }

  private:
    static constexpr double relative_ridge = 1e-13;  // because rows may be equal

    // G p = rho - score with the rho for which the changes add up to zero.
    std::vector<double> solve(const SymmetricMatrix& factor) {
        const std::size_t count = free_.size();
        double mean = 0.0;
        for (const std::size_t k : free_) {
            members_[k].score = rows_.dot(members_[k].row, w_.data());
            mean += members_[k].score / static_cast<double>(count);
        }
        std::vector<double> change(count), unit(count, 1.0);
        for (std::size_t k = 0; k < count; ++k) {
            change[k] = (mean - members_[free_[k]].score) / ridge_;
        }
        solve_factorised(factor, change);
        solve_factorised(factor, unit);
        double changes = 0.0, units = 0.0;
        for (std::size_t k = 0; k < count; ++k) {
            changes += change[k];
            units += unit[k];
        }
        for (std::size_t k = 0; k < count; ++k) {
            change[k] -= changes / units * unit[k];
        }
        return change;
    }

    void move(const std::vector<double>& change, double length) {
        std::vector<std::size_t> left;
        for (std::size_t k = 0; k < free_.size(); ++k) {
            WorkingRow& member = members_[free_[k]];
            const double room = change[k] > 0.0 ? member.C - member.alpha : member.alpha;
            const bool meets = std::abs(change[k]) * length >= room * (1.0 - 1e-12);
            const double after = !meets ? member.alpha + length * change[k] : change[k] > 0 ? member.C : 0.0;
            rows_.axpy(member.row, after - member.alpha, w_.data());
            member.alpha = after;
            if (!meets) {
                left.push_back(k);
            }
        }
        SymmetricMatrix gram(left.size());
        for (std::size_t k = 0; k < left.size(); ++k) {
            for (std::size_t j = 0; j <= k; ++j) {
                gram.row(k)[j] = gram_.row(left[k])[left[j]];
            }
        }
        std::vector<std::size_t> free(left.size());
        for (std::size_t k = 0; k < left.size(); ++k) {
            free[k] = free_[left[k]];
        }
        free_ = std::move(free);
        gram_ = std::move(gram);
    }

    const Rows& rows_;
    std::vector<WorkingRow>& members_;
    std::vector<double>& w_;
    std::vector<std::size_t> free_;
    SymmetricMatrix gram_{0};
    double ridge_ = 0.0;
};

}  // namespace maxmargin
