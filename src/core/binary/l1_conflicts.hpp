// Equal rows with both labels. No weights serve them all, and where C is large their losses are most of what is left.
// The sums of rows know such a group by one number, sum_i sign_i a_i x_i = s x, so that its variables may be any with
// the same s: the best are those of one margin m for all, a_i = loss'(target_i - sign_i m).
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "binary/loss.hpp"
#include "binary/problem.hpp"
#include "numeric/numbers.hpp"
#include "run/monitor.hpp"

namespace maxmargin {

class L1Conflicts {
  public:
    // Finds none when time has run out.
    template <RowSource Rows>
    L1Conflicts(const BinaryProblem<Rows>& problem, Monitor& monitor) {
        std::vector<std::pair<std::uint64_t, RowIndex>> rows;
        rows.reserve(problem.size());
        for (std::size_t i = 0; i < problem.size(); ++i) {
            if (problem.variables[i].takes_part()) {
                std::uint64_t sum = 0;  // of a hash of each entry
                problem.rows.for_each(i, [&](std::size_t j, double x) {
                    sum += (std::bit_cast<std::uint64_t>(x) ^ (j * 0x9e3779b97f4a7c15u)) * 0xff51afd7ed558ccdu;
                });
                rows.emplace_back(sum, static_cast<RowIndex>(i));
            }
            if (monitor.poll(problem.rows.stored(i))) {
                return;
            }
        }
        std::sort(rows.begin(), rows.end());
        for (std::size_t begin = 0; begin < rows.size();) {
            std::size_t end = begin + 1;
            while (end < rows.size() && rows[end].first == rows[begin].first) {
                ++end;
            }
            add_groups(problem, std::span(rows).subspan(begin, end - begin));
            if (monitor.poll(end - begin)) {
                groups_.clear();
                return;
            }
            begin = end;
        }
    }

    bool empty() const { return groups_.empty(); }

    // Replaces the variables of every group by the best with the same sum of rows.
    void improve(std::span<Variable> variables, const Loss& loss) const {
        for (const std::vector<RowIndex>& group : groups_) {
            double sum = 0.0, size = 0.0;
            for (const RowIndex i : group) {
                sum += variables[i].sign() * variables[i].alpha;
                size += std::abs(variables[i].alpha);
            }
            const auto terms = static_cast<double>(group.size());
            double margin = 0.0, low = -infinity, high = infinity;
            for (int trial = 0; trial < most_trials; ++trial) {
                double at = 0.0, curvature = 0.0, length = 0.0;
                for (const RowIndex i : group) {
                    const Variable& v = variables[i];
                    const double alpha = loss.slope(v.target - v.sign() * margin, v.C());
                    at += v.sign() * alpha;
                    length += std::abs(alpha);
                    curvature += alpha != 0.0 || !loss.is_one_sided() ? loss.inverse_diagonal(v.C()) : 0.0;
                }
                if (std::abs(at - sum) <= rounding * terms * (length + size)) {
                    take(group, margin, variables, loss);
                    break;
                }
                (at > sum ? low : high) = margin;
                const double next = margin + (at - sum) / curvature;
                margin = next > low && next < high ? next : 0.5 * (low + high);
                if (!std::isfinite(margin)) {
                    break;
                }
            }
        }
    }

  private:
    static constexpr int most_trials = 100;
    static constexpr double rounding = 1e-15;  // of a term

    // Of rows with the same hash.
    template <RowSource Rows>
    void add_groups(const BinaryProblem<Rows>& problem, std::span<std::pair<std::uint64_t, RowIndex>> rows) {
        while (rows.size() > 1) {
            const RowIndex first = rows.front().second;
            const auto rest = std::partition(rows.begin(), rows.end(), [&](const auto& row) {
                return row.second == first || problem.rows.equal(first, row.second);
            });
            std::vector<RowIndex> group;
            bool conflict = false;
            for (auto row = rows.begin(); row != rest; ++row) {
                group.push_back(row->second);
                conflict = conflict || problem.variables[row->second].sign() != problem.variables[first].sign();
            }
            if (conflict) {
                groups_.push_back(std::move(group));
            }
            rows = {rest, rows.end()};
        }
    }

    static void take(const std::vector<RowIndex>& group, double margin, std::span<Variable> variables,
                     const Loss& loss) {
        for (const RowIndex i : group) {
            Variable& v = variables[i];
            v.alpha = loss.slope(v.target - v.sign() * margin, v.C());
        }
    }

    std::vector<std::vector<RowIndex>> groups_;
};

}  // namespace maxmargin
