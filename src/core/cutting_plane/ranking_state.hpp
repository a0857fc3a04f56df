// A ranking problem while it is being solved: the pairs, and the best bounds that any stage has seen.
#pragma once

#include <vector>

#include "cutting_plane/ranked_pairs.hpp"
#include "rows/any_rows.hpp"
#include "run/bounds.hpp"
#include "run/team.hpp"

namespace maxmargin {

// The dual variables of the pairs, summed up for each row with their signs, and their sum over all pairs.
struct PairVariables {
    std::vector<double> coefficients;
    double sum = 0.0;
};

class RankingState {
  public:
    // Pairs keep the order of the last scores, so each problem has its own.
    RankingState(const AnyRows& rows, RankedPairs of_rows, double weight)
        : pairs(std::move(of_rows)),
          C(weight),
          bounds(weight, std::vector<double>(rows.features() + 1), {std::vector<double>(rows.size()), 0.0}),
          rows_(rows) {}

    RankingState(const RankingState&) = delete;
    RankingState& operator=(const RankingState&) = delete;

    // As in BinaryState.
    void verify(Team* team = nullptr);
    const AnyRows& rows() const { return rows_; }

    RankedPairs pairs;
    double C;
    Bounds<PairVariables> bounds;
    std::vector<double> points;  // where cuts touch the risk: those to start with, then those in use

  private:
    // Rounding errors of pairs are left alone below this share of the distance between the bounds.
    static constexpr double negligible = 1e-3;

    double exact_primal(Team* team);
    double exact_dual(Team* team) const;

    const AnyRows& rows_;
};

}  // namespace maxmargin
