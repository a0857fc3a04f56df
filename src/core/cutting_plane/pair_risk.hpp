// Pairs in the wrong order (OP5 of Joachims 2006): C / m sum over pairs max(0, 1 - (s_i - s_j)).
#pragma once

#include <cstddef>
#include <vector>

#include "cutting_plane/ranked_pairs.hpp"
#include "cutting_plane/risk.hpp"

namespace maxmargin {

class PairRisk final : public Risk {
  public:
    PairRisk(RankedPairs& pairs, double C, Team* team) : pairs_(pairs), C_(C), team_(team) {}

    const std::vector<RowIndex>& rows() const override { return pairs_.rows(); }
    double weight() const override { return C_; }

    double touch(const double* scores, double* coefficients) override {
        const double scale = C_ / pairs_.total();
        return scale * pairs_.violated(scores, scale, coefficients, team_);
    }

  private:
    RankedPairs& pairs_;
    double C_;
    Team* team_;
};
static_assert(RiskOracle<PairRisk>);

}  // namespace maxmargin
