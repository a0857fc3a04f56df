#include "cutting_plane/merged_ranks.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace maxmargin {
namespace {

constexpr std::size_t steps_per_piece = 4096;  // whose sums stay in the cache
constexpr std::size_t worth_waking = std::size_t{1} << 15;

// Both ranks by falling score. A lower row comes before a higher one in the merged order if that one reaches it: then,
// when it is the turn of a row, the rows that have passed before it are those that it makes pairs with. Rows are
// counted from 1, so that the sentinel, which nobody reaches, is number 0.
class Merge {
  public:
    Merge(const SortedRank& high, const SortedRank& low)
        : high_scores_(high.scores - 1),
          low_scores_(low.scores - 1),
          high_weights_(high.weights - 1),
          low_weights_(low.weights - 1),
          high_(high),
          low_(low) {}

    // So many rows of each are left at a place of the merged order. Their weights are only ever added up, the higher
    // rows' from the lowest score on: sums of small weights would be lost in differences of large ones.
    struct Place {
        std::size_t high, low;
        double high_left = 0.0, low_passed = 0.0;
    };

    // After so many steps.
    Place place_after(std::size_t steps) const {
        std::size_t fewest = steps - std::min(steps, low_.size), most = std::min(steps, high_.size);
        while (fewest < most) {  // the most higher rows of which the last comes before the lower row that is next
            const std::size_t passed = fewest + (most - fewest + 1) / 2;
            if (reaches(high_.size - passed + 1, low_.size - (steps - passed))) {
                most = passed - 1;
            } else {
                fewest = passed;
            }
        }
        return {high_.size - fewest, low_.size - (steps - fewest)};
    }

    // The weights between two places.
    std::pair<double, double> weights_between(const Place& from, const Place& to) const {
        double of_high = 0.0, of_low = 0.0;
        for (std::size_t i = to.high + 1; i <= from.high; ++i) {
            of_high += high_weights_[i];
        }
        for (std::size_t j = from.low; j > to.low; --j) {
            of_low += low_weights_[j];
        }
        return {of_high, of_low};
    }

    // All steps from one place to another. Each either brings a lower row into the reach of the higher row at hand or
    // is done with that one. Which of the two it is cannot be predicted, so it must not be a jump: hence the
    // arithmetic. The last row at hand of either kind may be left for the next piece, with a sum that is not used.
    double run(const Place& from, const Place& to) const {
        double as_higher[steps_per_piece + 1], as_lower[steps_per_piece + 1], ahead[steps_per_piece + 1];
        double weight = ahead[from.high - to.high] = to.high_left;
        for (std::size_t k = from.high - to.high; k-- > 0;) {
            ahead[k] = weight += high_weights_[from.high - k];
        }
        double reached_weight = from.low_passed;
        std::size_t i = from.high, j = from.low;
        for (std::size_t left = from.high - to.high + from.low - to.low; left > 0 && i > 0; --left) {
            const bool reached = reaches(i, j);
            const double one = reached ? 1.0 : 0.0;
            as_higher[from.high - i] = reached_weight;
            as_lower[from.low - j] = ahead[from.high - i];
            reached_weight += one * low_weights_[j];
            j -= static_cast<std::size_t>(reached);
            i -= static_cast<std::size_t>(!reached);
        }
        double sum = 0.0;
        for (std::size_t k = 0; k < from.high - i; ++k) {
            const std::size_t row = from.high - k;
            sum += high_weights_[row] * as_higher[k];
            high_.net[row - 1] += as_higher[k];
        }
        for (std::size_t k = 0; k < from.low - j; ++k) {
            low_.net[from.low - k - 1] -= as_lower[k];
        }
        return sum;
    }

  private:
    bool reaches(std::size_t i, std::size_t j) const { return high_scores_[i] - low_scores_[j] < 1.0; }

    const double *high_scores_, *low_scores_, *high_weights_, *low_weights_;
    const SortedRank &high_, &low_;
};

}  // namespace

double merge(const SortedRank& high, const SortedRank& low, Team* team) {
    const Merge merge(high, low);
    const std::size_t steps = high.size + low.size, pieces = steps / steps_per_piece + 1;
    Team* const threads = steps < worth_waking ? nullptr : team;
    std::vector<Merge::Place> places(pieces + 1);
    for_all(threads, pieces + 1,
            [&](std::size_t piece) { places[piece] = merge.place_after(std::min(piece * steps_per_piece, steps)); });
    std::vector<std::pair<double, double>> weights(pieces);
    if (pieces > 1) {  // a single one begins with nothing and leaves nothing
        for_all(threads, pieces,
                [&](std::size_t piece) { weights[piece] = merge.weights_between(places[piece], places[piece + 1]); });
    }
    for (std::size_t piece = 0; piece < pieces; ++piece) {
        places[piece + 1].low_passed = places[piece].low_passed + weights[piece].second;
    }
    for (std::size_t piece = pieces; piece-- > 0;) {
        places[piece].high_left = places[piece + 1].high_left + weights[piece].first;
    }
    std::vector<double> sums(pieces);
    for_all(threads, pieces, [&](std::size_t piece) { sums[piece] = merge.run(places[piece], places[piece + 1]); });
    double sum = 0.0;
    for (const double own : sums) {
        sum += own;
    }
    return sum;
}

}  // namespace maxmargin
