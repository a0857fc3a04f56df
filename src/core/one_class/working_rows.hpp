// The one-class problem over few rows, all other variables fixed: pairs of variables are moved against each other
// (Chou, Lin & Lin 2020), and between two sweeps of pairs those strictly between their bounds are solved for exactly.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "numeric/numbers.hpp"
#include "numeric/simd.hpp"
#include "numeric/twofold.hpp"
#include "one_class/free_face.hpp"
#include "one_class/numbers_only.hpp"
#include "rows/row_source.hpp"
#include "run/monitor.hpp"

namespace maxmargin {

template <RowSource Rows>
class WorkingRows {
  public:
    // `w` is the sum of a_i x_i over all rows of the problem.
    WorkingRows(const Rows& rows, std::vector<double>& w, Monitor& monitor)
        : rows_(rows), w_(w), monitor_(monitor), scattered_(rows.features() + 1) {}

    std::vector<WorkingRow> members;

    double rho() const { return rho_; }
    double gap() const { return gap_; }

    // Moves the variables until their gap is at most `target` or a share of what it was, or no longer falls. `exactly`
    // allows large systems. False when the monitor ends it.
    bool solve(double target, double share, bool exactly) {
        const double sum = sum_of_variables();
        const bool goes_on = descend(target, share, exactly);
        restore(sum);
        return goes_on;
    }

    // Scores at the weights as they are, the best offset, and the gap there. False when the monitor ends it.
    bool look() {
        std::size_t work = 0;
        rows_.with_view([&](const auto& view) {
            for (WorkingRow& member : members) {
                member.score = view.dot(member.row, w_.data());
                work += view.stored(member.row);
            }
        });
        double zero = 0.0;
        for (const WorkingRow& member : members) {
            zero += member.score - member.score;
        }
        require_numbers(zero);
        find_offset();
        return !monitor_.poll(work);
    }

  private:
    bool descend(double target, double share, bool exactly) {
        double last = infinity;
        for (int sweep = 0; sweep < most_sweeps; ++sweep) {
            if (!look()) {
                return false;
            }
            target = sweep == 0 ? std::max(target, share * gap_) : target;
            const double before = dense_dot(w_.data(), w_.data(), w_.size());
            if (gap_ <= target || before == 0.0) {
                return true;
            }
            double gain = move_pairs();
            const bool stalls = gap_ > 0.5 * last;
            FreeFace<Rows> face(rows_, members, w_, scattered_, stalls && exactly ? most_free : most_free_at_once,
                                stalls ? most_free_at_once : 0);
            last = gap_;
            std::size_t work = face.size() * face.size() * face.size();
            int faces = 0;
            for (double rise = face.step(); rise > 0.0; rise = face.step()) {
                gain += rise;
                work += face.size() * face.size() * face.size();
                if (rise <= least_gain * before || ++faces == most_faces) {
                    break;
                }
            }
            if (gain <= least_gain * before || monitor_.poll(work / 8)) {
                break;
            }
        }
        return look();
    }

    double sum_of_variables() const {
        TwofoldSum sum;
        for (const WorkingRow& member : members) {
            sum.add(member.alpha);
        }
        return sum.value();
    }

    // Gives the variables the sum again that they had but for rounding.
    void restore(double sum) {
        const double missing = sum - sum_of_variables();
        auto room = [missing](const WorkingRow& row) { return missing > 0.0 ? row.C - row.alpha : row.alpha; };
        const auto most = std::max_element(members.begin(), members.end(), [&](const auto& a, const auto& b) {
            return std::min(room(a), a.is_free() ? a.C : 0.0) < std::min(room(b), b.is_free() ? b.C : 0.0);
        });
        if (missing == 0.0 || most == members.end() || !most->is_free() || room(*most) < std::abs(missing)) {
            return;
        }
        most->alpha += missing;
        rows_.axpy(most->row, missing, w_.data());
        look();
    }

    static constexpr int most_sweeps = 100, most_faces = 5;
    static constexpr double least_gain = 1e-17;
    // The linear system of more variables costs too much beside sweeps of pairs, unless these stall.
    static constexpr std::size_t most_free_at_once = 64, most_free = 256;

    // The offset of the smallest gap is a quantile of the scores: the bounds of what lies below it add up to as much as
    // the variables do. By selection: each partition decides about half of what is left.
    void find_offset() {
        double sum = 0.0;
        order_.resize(members.size());
        for (std::size_t k = 0; k < members.size(); ++k) {
            order_[k] = static_cast<RowIndex>(k);
            sum += members[k].alpha;
        }
        sum *= 1.0 - 1e-14;
        auto begin = order_.begin(), end = order_.end();
        while (end - begin > 1) {
            const auto middle = begin + (end - begin) / 2;
            std::nth_element(begin, middle, end,
                             [this](RowIndex a, RowIndex b) { return members[a].score < members[b].score; });
            double below = 0.0;
            for (auto k = begin; k != middle; ++k) {
                below += members[*k].C;
            }
            if (below >= sum) {
                end = middle;
            } else {
                sum -= below;
                begin = middle;
            }
        }
        rho_ = members[*begin].score;
        gap_ = 0.0;
        for (const WorkingRow& member : members) {
            gap_ += member.gap(rho_);
        }
    }

    // The lowest scores whose variables may rise with the highest whose variables may fall. Returns by how much the
    // dual value rises.
    double move_pairs() {
        rising_.clear();
        falling_.clear();
        for (std::size_t k = 0; k < members.size(); ++k) {
            const WorkingRow& member = members[k];
            if (member.alpha < member.C && member.score <= rho_) {
                rising_.push_back(static_cast<RowIndex>(k));
            }
            if (member.alpha > 0.0 && member.score >= rho_) {
                falling_.push_back(static_cast<RowIndex>(k));
            }
        }
        auto lower = [this](RowIndex a, RowIndex b) {
            return members[a].score < members[b].score || (members[a].score == members[b].score && a < b);
        };
        std::sort(rising_.begin(), rising_.end(), lower);
        std::sort(falling_.begin(), falling_.end(), [&](RowIndex a, RowIndex b) { return lower(b, a); });
        double gain = 0.0;
        for (std::size_t p = 0, q = 0; p < rising_.size() && q < falling_.size();) {
            WorkingRow &up = members[rising_[p]], &down = members[falling_[q]];
            if (up.score >= down.score) {
                break;
            }
            gain += move_pair(up, down);
            const bool full = up.alpha >= up.C, empty = down.alpha <= 0.0;
            p += full || !empty ? 1 : 0;
            q += empty || !full ? 1 : 0;
        }
        return gain;
    }

    double move_pair(WorkingRow& up, WorkingRow& down) {
        const double violation = rows_.dot(down.row, w_.data()) - rows_.dot(up.row, w_.data());
        const double room = std::min(up.C - up.alpha, down.alpha);
        if (violation <= 0.0 || room <= 0.0) {
            return 0.0;
        }
        const double longest = up.length + down.length;
        double curvature = longest * longest;
        if (violation < curvature * room) {
            curvature = squared_distance(up.row, down.row);
        }
        const bool meets = violation >= curvature * room;
        const double step = meets ? room : violation / curvature;
        const bool fills = meets && room == up.C - up.alpha, empties = meets && room == down.alpha;
        up.alpha = fills ? up.C : up.alpha + step;
        down.alpha = empties ? 0.0 : down.alpha - step;
        rows_.axpy(up.row, step, w_.data());
        rows_.axpy(down.row, -step, w_.data());
        return step * (violation - 0.5 * step * curvature);
    }

    double squared_distance(RowIndex i, RowIndex j) {
        rows_.axpy(i, 1.0, scattered_.data());
        rows_.axpy(j, -1.0, scattered_.data());
        const double square = rows_.dot(i, scattered_.data()) - rows_.dot(j, scattered_.data());
        for (const RowIndex row : {i, j}) {
            rows_.for_each(row, [this](std::size_t column, double) { scattered_[column] = 0.0; });
        }
        return std::max(square, 0.0);
    }

    const Rows& rows_;
    std::vector<double>& w_;
    Monitor& monitor_;
    std::vector<double> scattered_;  // zero between two uses
    std::vector<RowIndex> order_, rising_, falling_;
    double rho_ = 0.0, gap_ = 0.0;
};

}  // namespace maxmargin
