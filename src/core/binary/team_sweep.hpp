// A sweep of dual coordinate descent by several threads. Each keeps the weights of some columns (column_parts.hpp) and
// computes its part of every score, one batch of rows ahead; the first one adds the parts up, takes the steps, one
// after the other in the order of the schedule, and tells the others, who add them to their weights. So the steps are
// those of one thread, but that scores lack the last few of them: those of their own batch and of the one before.
//
// Along most directions these do not matter, since rows of text have little in common. What they have in common is
// mostly the bias and one direction `u`, near the mean of the rows: how far the last steps have gone along it, the
// first thread knows. Where rows have more in common, steps gain less than they should by themselves; then sweeps go on
// in one thread.
//
// The result depends on the parts, never on the number of threads that share them.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "binary/dual_sweep.hpp"
#include "rows/column_parts.hpp"
#include "rows/user_rows.hpp"
#include "run/team.hpp"

namespace maxmargin {

class TeamSweep {
  public:
    // In how many parts the columns of these rows should be kept, unless that is given (not 0), and what is in them; in
    // one where threads would not help: rows are too short, or too few, or dense.
    static ColumnParts parts_of(const UserRows& rows, std::size_t given);

    // `sweep` must be over packed rows with parts. `large` leaves schedules that are not worth it to one thread.
    TeamSweep(const DualSweep& sweep, std::span<Variable> variables, Team& team, bool large);

    // As that of a DualSweep.
    SweepResult run(std::span<const RowIndex> schedule, const ShrinkRule& rule, bool with_gains, double* w,
                    Visits& visits, Monitor& monitor);

  private:
    template <class Rows>
    class Epoch;

    static constexpr double least_gain = 0.5;  // in all, over that of the steps by themselves
    static constexpr std::size_t least_rows = 256, least_entries = 150'000;  // of a schedule that is shared

    void find_common_direction();

    const DualSweep& sweep_;
    std::span<Variable> variables_;
    Team& team_;
    std::vector<double> along_;  // u.x_i
    std::size_t least_rows_ = least_rows;
    bool helps_ = true;
};

}  // namespace maxmargin
