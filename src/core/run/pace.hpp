// How fast the gap of a stage falls, from its certificates: whether it promises to reach the tolerance.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "numeric/numbers.hpp"

namespace maxmargin {

class Pace {
  public:
    // At most `far` counts as progress at all.
    static constexpr double far = 0.95;

    // `passed` is what the pace is measured in: work or epochs.
    void add(double passed, double gap) { seen_.emplace_back(passed, gap); }

    // How much more it takes at the pace of the second half so far; infinite where the gap does not fall.
    double to_go(double tol) const {
        if (seen_.size() < 2) {
            return 0.0;
        }
        const double passed = seen_.back().first;
        const double gap = seen_.back().second;
        const auto middle = std::min_element(seen_.begin(), seen_.end() - 1, [&](const auto& a, const auto& b) {
            return std::abs(a.first - 0.5 * passed) < std::abs(b.first - 0.5 * passed);
        });
        const double fall = std::log(middle->second / gap) / (passed - middle->first);
        const double left = std::log(gap / std::max(tol, 1e-15));
        return fall > 0.0 ? left / fall : infinity;
    }

    // Whether more than `worth` is still to go.
    bool too_slow(double tol, double worth) const {
        return worth < infinity && seen_.size() >= 2 && !(to_go(tol) <= worth);
    }

    // Whether, after `patience`, more than `most` is still to go; or whether after half of it, and `first_look` at the
    // least, nothing has been achieved.
    bool stalls(double tol, double patience, double most) const {
        if (!(patience < infinity) || seen_.empty() || seen_.back().second <= tol) {
            return false;
        }
        const double passed = seen_.back().first;
        const double gap = seen_.back().second;
        const bool hopeless = gap > far && passed >= std::max(first_look, 0.5 * patience);
        return hopeless || (passed >= patience && (seen_.size() < 2 || to_go(tol) > most));
    }

  private:
    static constexpr double first_look = 14.0;

    std::vector<std::pair<double, double>> seen_;  // what had passed, and the gap
};

// When to certify: a share of all work, so that certificates never cost more than that.
class CheckBudget {
  public:
    CheckBudget(double share, double cost) : share_(share), cost_(cost), credit_(share * cost) {}
    void work(double amount) { credit_ += share_ * amount; }
    bool enough() const { return credit_ >= cost_; }
    void spend() { credit_ -= cost_; }

  private:
    double share_, cost_, credit_;
};

}  // namespace maxmargin
