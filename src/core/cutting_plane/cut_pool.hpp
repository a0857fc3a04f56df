// The cuts found so far, and the master problem over them. Its solution gives each cut a share; the shares of a
// solution are what the dual variables of the whole problem are made of.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "cutting_plane/master_problem.hpp"
#include "numeric/simd.hpp"

namespace maxmargin {

struct Cut {
    std::vector<double> normal;        // a_k
    double offset;                     // b_k
    std::vector<double> point;         // the weights where it touches the risk
    std::vector<double> coefficients;  // may be empty: found again at the point
};

using CutPointer = std::shared_ptr<const Cut>;
// Cuts with their shares.
using Mixture = std::vector<std::pair<double, CutPointer>>;

class CutPool {
  public:
    // Null, and nothing is changed, for a cut that is not of finite numbers.
    CutPointer add(Cut cut) {
        std::vector<double> products{0.0};
        for (const LiveCut& other : cuts_) {
            products.push_back(dot(other.cut->normal, cut.normal));
        }
        products.push_back(dot(cut.normal, cut.normal));
        if (!std::isfinite(std::accumulate(products.begin(), products.end(), cut.offset))) {
            return nullptr;
        }
        master_.add(std::move(products), cut.offset);
        cuts_.push_back({std::make_shared<const Cut>(std::move(cut)), 0});
        return cuts_.back().cut;
    }

    // Solves the master problem: its value D, and in `w` the weights that attain it.
    double solve(std::vector<double>& w) {
        master_.solve();
        std::fill(w.begin(), w.end(), 0.0);
        double value = 0.0;
        for (std::size_t k = 0; k < cuts_.size(); ++k) {
            const double share = master_.share(k + 1);
            if (share > 0.0) {
                dense_axpy(share, cuts_[k].cut->normal.data(), w.data(), w.size());
                value += share * cuts_[k].cut->offset;
            }
            cuts_[k].idle = share > 0.0 ? 0 : cuts_[k].idle + 1;
        }
        return value - 0.5 * dot(w, w);
    }

    // The cuts of the last solution.
    void copy_mixture(Mixture& parts) const {
        parts.clear();
        for (std::size_t k = 0; k < cuts_.size(); ++k) {
            if (master_.share(k + 1) > 0.0) {
                parts.emplace_back(master_.share(k + 1), cuts_[k].cut);
            }
        }
    }

    void drop_idle(int longest_idle) {
        std::vector<bool> kept(cuts_.size() + 1, true);
        for (std::size_t k = 0; k < cuts_.size(); ++k) {
            kept[k + 1] = cuts_[k].idle <= longest_idle;
        }
        if (std::find(kept.begin(), kept.end(), false) != kept.end()) {
            master_.keep(kept);
            std::size_t k = 0;
            std::erase_if(cuts_, [&](const LiveCut&) { return !kept[++k]; });
        }
    }

    bool is_in_use(const CutPointer& cut) const {
        return std::any_of(cuts_.begin(), cuts_.end(),
                           [&](const LiveCut& live) { return live.cut == cut && live.idle == 0; });
    }

    std::size_t in_use() const {
        return static_cast<std::size_t>(
            std::count_if(cuts_.begin(), cuts_.end(), [](const LiveCut& live) { return live.idle == 0; }));
    }

  private:
    struct LiveCut {
        CutPointer cut;
        int idle;  // solutions since it last had a share
    };

    static double dot(const std::vector<double>& a, const std::vector<double>& b) {
        return dense_dot(a.data(), b.data(), a.size());
    }

    MasterProblem master_;
    std::vector<LiveCut> cuts_;
};

}  // namespace maxmargin
