// Rows of a one-class problem with their variables, and their scores at weights of reference: those of other weights
// w = c v + d, v the reference, are within |d| |x_i| of c times these, so that most rows are known to be on their side
// of the offset without another look at them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "numeric/simd.hpp"
#include "one_class/free_face.hpp"
#include "one_class/state.hpp"
#include "rows/rows.hpp"
#include "run/monitor.hpp"

namespace maxmargin {

// w.x_i; the sum of squares is |x_i|^2 where the indices of the row increase.
template <class Value, class Index>
double score_and_square(const CsrView<Value, Index>& view, std::size_t i, const double* w, double& square,
                        bool& increases) {
    const std::size_t first = view.starts[i], last = view.starts[i + 1];
    double score[2] = {0.0, 0.0}, squares[2] = {0.0, 0.0};
    std::size_t k = first;
    for (; k + 2 <= last; k += 2) {
        for (std::size_t r = 0; r < 2; ++r) {
            const auto x = static_cast<double>(view.values[k + r]);
            score[r] += x * w[view.indices[k + r]];
            squares[r] += x * x;
        }
        increases &= view.indices[k] < view.indices[k + 1] && (k == first || view.indices[k - 1] < view.indices[k]);
    }
    if (k < last) {
        const auto x = static_cast<double>(view.values[k]);
        score[0] += x * w[view.indices[k]];
        squares[0] += x * x;
        increases &= k == first || view.indices[k - 1] < view.indices[k];
    }
    square = squares[0] + squares[1];
    return score[0] + score[1];
}
template <class Value>
double score_and_square(const DenseView<Value>& view, std::size_t i, const double* w, double& square, bool&) {
    square = dense_squared_norm(view.row(i), view.columns);
    return view.dot(i, w);
}

template <RowSource Rows>
class RowList {
  public:
    RowList(const OneClassState& state, const Rows& rows, std::size_t stride) : state_(state), rows_(rows) {
        list_.reserve(rows.size() / stride + 1);
        for (std::size_t i = 0; i < rows.size(); i += stride) {
            if (state.C[i] > 0.0) {
                list_.push_back(static_cast<RowIndex>(i));
                total_ += state.C[i];
            }
        }
    }

    std::size_t size() const { return list_.size(); }
    double total() const { return total_; }
    RowIndex row(std::size_t k) const { return list_[k]; }
    double C(std::size_t k) const { return state_.C[list_[k]]; }
    double score(std::size_t k) const { return scores_[k]; }
    WorkingRow member(std::size_t k) const {
        return {list_[k], static_cast<RowIndex>(k), alphas[k], C(k), scores_[k], static_cast<double>(lengths_[k])};
    }

    // Scores at `w`, which becomes the reference. The first time lengths are computed as well.
    void refer_to(const std::vector<double>& w) {
        reference_ = w;
        scores_.resize(size());
        if (lengths_.empty()) {
            measure();
            return;
        }
        rows_.with_view([&](const auto& view) {
            for (std::size_t k = 0; k < size(); ++k) {
                scores_[k] = view.dot(list_[k], reference_.data());
            }
        });
    }

    // All rows with a score below `low` get their bound, those above `high` zero. False, with nothing done, unless the
    // sum s is met between: those of the places there are in `between`, by rising score, and fill up to s.
    bool fill(double s, double low, double high, std::vector<RowIndex>& between) {
        between.clear();
        double below = 0.0, at = 0.0;
        for (std::size_t k = 0; k < size(); ++k) {
            if (scores_[k] < low) {
                below += C(k);
            } else if (scores_[k] <= high) {
                between.push_back(static_cast<RowIndex>(k));
                at += C(k);
            }
        }
        if (below > s || below + at < s) {
            if (low > -infinity || high < infinity) {
                return false;
            }
        }
        std::sort(between.begin(), between.end(), [this](RowIndex a, RowIndex b) {
            return scores_[a] < scores_[b] || (scores_[a] == scores_[b] && a < b);
        });
        alphas.assign(size(), 0.0);
        for (std::size_t k = 0; k < size() && below > 0.0; ++k) {
            alphas[k] = scores_[k] < low ? C(k) : 0.0;
        }
        quantile_ = between.size() - 1;
        for (std::size_t p = 0; p < between.size() && below < s; ++p) {
            alphas[between[p]] = std::min(C(between[p]), s - below);
            below += C(between[p]);
            quantile_ = p;
        }
        return true;
    }
    // The place in `between` up to which rows were filled.
    std::size_t quantile() const { return quantile_; }

    // The sum of a_i x_i.
    void sum_rows(std::vector<double>& w) const {
        std::fill(w.begin(), w.end(), 0.0);
        rows_.with_view([&](const auto& view) {
            for (std::size_t k = 0; k < size(); ++k) {
                if (alphas[k] != 0.0) {
                    view.axpy(list_[k], alphas[k], w.data());
                }
            }
        });
    }

    // The places of all rows that are not marked and not proved to be on the side of `rho` that their variable says.
    void find_unproved(const std::vector<double>& w, double rho, const std::vector<unsigned char>& marks,
                       std::vector<RowIndex>& places) const {
        const std::size_t n = w.size();
        const double square = dense_dot(reference_.data(), reference_.data(), n);
        const double factor = square > 0.0 ? dense_dot(w.data(), reference_.data(), n) / square : 0.0;
        double rest = 0.0, size_of_w = 0.0;
        for (std::size_t j = 0; j < n; ++j) {
            const double d = w[j] - factor * reference_[j];
            rest += d * d;
            size_of_w += w[j] * w[j];
        }
        const double radius =
            std::sqrt(rest) + 64.0 * std::numeric_limits<double>::epsilon() *
                                  (std::sqrt(size_of_w) + std::abs(factor) * std::sqrt(square));
        places.clear();
        for (std::size_t k = 0; k < size(); ++k) {
            const double above = factor * scores_[k] - rho, reach = radius * static_cast<double>(lengths_[k]);
            const bool proved = alphas[k] == 0.0 ? above >= reach : alphas[k] == C(k) && above <= -reach;
            if (!proved && !marks[k]) {
                places.push_back(static_cast<RowIndex>(k));
            }
        }
    }

    std::vector<double> alphas;

  private:
    void measure() {
        lengths_.resize(size());
        bool increases = true;
        double largest = 0.0;
        rows_.with_view([&](const auto& view) {
            for (std::size_t k = 0; k < size(); ++k) {
                double square = 0.0;
                scores_[k] = score_and_square(view, list_[k], reference_.data(), square, increases);
                largest = square <= largest ? largest : square;
                lengths_[k] = round_up(square);
            }
        });
        if (!increases || !(largest <= largest_squared_norm)) {
            const std::vector<double>& squares = state_.rows().squared_norms();  // throws unless they are numbers
            for (std::size_t k = 0; k < size(); ++k) {
                lengths_[k] = round_up(squares[list_[k]]);
            }
        }
    }
    static float round_up(double square) { return static_cast<float>(std::sqrt(square) * (1.0 + 1e-6)); }

    const OneClassState& state_;
    const Rows& rows_;
    std::vector<RowIndex> list_;
    double total_ = 0.0;
    std::vector<double> reference_, scores_;
    std::vector<float> lengths_;
    std::size_t quantile_ = 0;
};

}  // namespace maxmargin
