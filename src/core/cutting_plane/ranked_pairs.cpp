#include "cutting_plane/ranked_pairs.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "numeric/numbers.hpp"
#include "numeric/simd.hpp"

namespace maxmargin {
namespace {

// Sums of weights over all smaller ranks, as a Fenwick tree.
class RankSums {
  public:
    explicit RankSums(std::size_t ranks) : sums_(ranks, 0.0) {}
    void add(std::size_t rank, double weight) {
        for (std::size_t k = rank + 1; k <= sums_.size(); k += k & (~k + 1)) {
            sums_[k - 1] += weight;
        }
    }
    double below(std::size_t rank) const {
        double sum = 0.0;
        for (std::size_t k = rank; k > 0; k &= k - 1) {
            sum += sums_[k - 1];
        }
        return sum;
    }

  private:
    std::vector<double> sums_;
};

}  // namespace

RankedPairs::RankedPairs(std::span<const double> labels, std::span<const std::int64_t> groups,
                         std::span<const double> weights) {
    std::vector<RowIndex> rows(labels.size());
    std::iota(rows.begin(), rows.end(), RowIndex{0});
    if (!weights.empty()) {
        std::erase_if(rows, [&](RowIndex i) { return weights[i] == 0.0; });
    }
    auto group_of = [&](RowIndex i) { return groups.empty() ? 0 : groups[i]; };
    auto by_group = [&](RowIndex a, RowIndex b) { return group_of(a) < group_of(b); };
    // Rows of a group stay in their order, which keeps passes over them sequential.
    if (!std::is_sorted(rows.begin(), rows.end(), by_group)) {
        std::stable_sort(rows.begin(), rows.end(), by_group);
    }
    rows_.reserve(rows.size());
    members_.reserve(rows.size());
    for (std::size_t begin = 0; begin < rows.size();) {
        std::size_t end = begin + 1;
        while (end < rows.size() && group_of(rows[end]) == group_of(rows[begin])) {
            ++end;
        }
        add_group(group_of(rows[begin]), {rows.data() + begin, end - begin}, labels, weights);
        begin = end;
    }
}

double RankedPairs::violated(const double* scores, double scale, double* coefficients) {
    // Scores that are no numbers, of data that were changed meanwhile, cannot be sorted.
    if (!std::all_of(scores, scores + rows_.size(), [](double score) { return std::isfinite(score); })) {
        std::fill_n(coefficients, rows_.size(), 0.0);
        return std::numeric_limits<double>::quiet_NaN();
    }
    double sum = 0.0;
    for (const Group& group : groups_) {
        const Member* members = members_.data() + group.start;
        double* result = coefficients + group.start;
        scores_ = scores + group.start;
        if (group.listed) {
            sum += list(group, result);
            for (std::size_t i = 0; i < group.size; ++i) {
                result[i] *= scale * members[i].weight;
            }
        } else {
            net_.assign(group.size, 0.0);
            sum += group.ranks <= few_ranks ? merge_ranks(group) : sweep(group);
            for (std::size_t i = 0; i < group.size; ++i) {
                result[members[i].place] = scale * members[i].weight * net_[i];
            }
        }
    }
    return sum;
}

bool RankedPairs::are_listed() const {
    return std::all_of(groups_.begin(), groups_.end(), [](const Group& group) { return group.listed; });
}

PairCounts RankedPairs::count(std::size_t g, const double* scores) const {
    const Group& group = groups_[g];
    scores += group.start;
    std::vector<Member> members(members_.begin() + static_cast<std::ptrdiff_t>(group.start),
                                members_.begin() + static_cast<std::ptrdiff_t>(group.start + group.size));
    std::sort(members.begin(), members.end(), [scores](const Member& a, const Member& b) {
        const double left = scores[a.place], right = scores[b.place];
        return left > right || (left == right && a.rank < b.rank);
    });
    PairCounts counts;
    counts.all = group.pairs;
    RankSums before(group.ranks);  // of rows with higher scores
    for (std::size_t begin = 0, end = 0; begin < members.size(); begin = end) {
        const double score = scores[members[begin].place];
        double lower = 0.0, same = 0.0;  // weights among rows of this score, which rise by rank
        for (end = begin; end < members.size() && !(scores[members[end].place] < score); ++end) {
            const Member& member = members[end];
            if (end > begin && member.rank > members[end - 1].rank) {
                lower += std::exchange(same, 0.0);
            }
            same += member.weight;
            counts.tied += member.weight * lower;
            counts.swapped += member.weight * before.below(member.rank);
        }
        for (std::size_t i = begin; i < end; ++i) {
            before.add(members[i].rank, members[i].weight);
        }
    }
    return counts;
}

void RankedPairs::add_group(std::int64_t id, std::span<const RowIndex> rows, std::span<const double> labels,
                            std::span<const double> weights) {
    std::vector<double> levels(rows.size());
    std::transform(rows.begin(), rows.end(), levels.begin(), [&](RowIndex i) { return labels[i]; });
    std::sort(levels.begin(), levels.end());
    levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
    if (levels.size() == 1) {
        return;
    }
    const std::size_t start = members_.size();
    std::vector<double> below(levels.size() + 1, 0.0);
    for (const RowIndex i : rows) {
        const auto rank = std::lower_bound(levels.begin(), levels.end(), labels[i]) - levels.begin();
        const double weight = weights.empty() ? 1.0 : weights[i];
        members_.push_back(
            {weight, static_cast<std::uint32_t>(rank), static_cast<std::uint32_t>(members_.size() - start)});
        below[static_cast<std::size_t>(rank) + 1] += weight;
    }
    std::partial_sum(below.begin(), below.end(), below.begin());
    double pairs = 0.0;
    for (std::size_t p = start; p < members_.size(); ++p) {
        pairs += members_[p].weight * below[members_[p].rank];
    }
    const bool listed = rows.size() <= few_to_list;
    if (listed || levels.size() <= few_ranks) {
        std::stable_sort(members_.begin() + static_cast<std::ptrdiff_t>(start), members_.end(),
                         [](const Member& a, const Member& b) { return a.rank < b.rank; });
    }
    // Few rows may as well be taken by rank, which saves a list of pairs the way to their places.
    for (std::size_t p = start; p < members_.size(); ++p) {
        rows_.push_back(rows[listed ? std::exchange(members_[p].place, static_cast<std::uint32_t>(p - start))
                                    : static_cast<std::uint32_t>(p - start)]);
    }
    groups_.push_back({id, start, rows.size(), levels.size(), pairs, listed});
    total_ += pairs;
}

void RankedPairs::sort(Member* members, std::size_t size, double* sorted) {
    sorted[-1] = -infinity;
    if (size <= few_rows) {  // by insertion, which is fast when the order has hardly changed
        for (std::size_t p = 0; p < size; ++p) {
            const Member member = members[p];
            const double score = scores_[member.place];
            std::size_t i = p;
            for (; i > 0 && score < sorted[i - 1]; --i) {
                sorted[i] = sorted[i - 1];
                members[i] = members[i - 1];
            }
            sorted[i] = score;
            members[i] = member;
        }
    } else {
        unsorted_.resize(size);
        for (std::size_t p = 0; p < size; ++p) {
            unsorted_[p] = scores_[members[p].place];
        }
        const auto& order = sorter_.sort(unsorted_.data(), size);
        moved_.assign(members, members + size);
        for (std::size_t i = 0; i < size; ++i) {
            sorted[i] = unsorted_[order[i].position];
            members[i] = moved_[order[i].position];
        }
    }
}

double RankedPairs::list(const Group& group, double* net) {
    const Member* members = members_.data() + group.start;
    double weights[few_to_list], sum = 0.0;
    std::size_t lower = 0;  // so many rows have a lower rank
    for (std::size_t i = 0; i < group.size; ++i) {
        weights[i] = members[i].weight;
        net[i] = 0.0;
        lower = i > 0 && members[i].rank > members[i - 1].rank ? i : lower;
        if (lower > 0) {
            net[i] = reach(scores_[i], weights[i], scores_, weights, net, lower);
            sum += weights[i] * net[i];
        }
    }
    return sum;
}

double RankedPairs::merge_ranks(const Group& group) {
    Block blocks[few_ranks];
    sorted_.resize(group.size + few_ranks);
    weights_.resize(group.size + few_ranks);
    Member* members = members_.data() + group.start;
    std::size_t begin = 0;
    double sum = 0.0;
    for (std::size_t rank = 0; rank < group.ranks; ++rank) {
        std::size_t end = begin;
        while (end < group.size && members[end].rank == rank) {
            ++end;
        }
        const std::size_t size = end - begin;
        double *scores = sorted_.data() + begin + rank + 1, *weights = weights_.data() + begin + rank + 1;
        sort(members + begin, size, scores);
        double weight = weights[-1] = 0.0;
        for (std::size_t i = 0; i < size; ++i) {
            weight += weights[i] = members[begin + i].weight;
        }
        blocks[rank] = {scores, weights, net_.data() + begin, size, weight};
        for (std::size_t lower = 0; lower < rank; ++lower) {
            sum += merge(blocks[rank], blocks[lower]);
        }
        begin = end;
    }
    return sum;
}

double RankedPairs::merge(const Block& high, const Block& low) {
    as_higher_.resize(high.size + 1);
    as_lower_.resize(low.size + 1);
    const double *high_scores = high.scores - 1, *high_weights = high.weights - 1;  // counted from 1
    const double *low_scores = low.scores - 1, *low_weights = low.weights - 1;
    double *as_higher = as_higher_.data(), *as_lower = as_lower_.data();
    double reached_weight = 0.0, ahead = high.weight;
    std::size_t i = high.size, j = low.size;
    while (i > 0) {
        const bool reached = high_scores[i] - low_scores[j] < 1.0;
        const double one = reached ? 1.0 : 0.0;
        as_higher[i] = reached_weight;
        as_lower[j] = ahead;
        reached_weight += one * low_weights[j];
        ahead -= (1.0 - one) * high_weights[i];
        j -= static_cast<std::size_t>(reached);
        i -= static_cast<std::size_t>(!reached);
    }
    std::fill_n(as_lower, j + 1, 0.0);  // these are not reached by any
    double sum = 0.0;
    for (std::size_t k = 0; k < high.size; ++k) {
        sum += high.weights[k] * as_higher[k + 1];
        high.net[k] += as_higher[k + 1];
    }
    for (std::size_t k = 0; k < low.size; ++k) {
        low.net[k] -= as_lower[k + 1];
    }
    return sum;
}

double RankedPairs::sweep(const Group& group) {
    Member* members = members_.data() + group.start;
    sorted_.resize(group.size + 1);
    double* scores = sorted_.data() + 1;
    sort(members, group.size, scores);
    const std::size_t n = group.size, last = group.ranks - 1;
    double sum = 0.0;
    RankSums falling(group.ranks), rising(group.ranks);
    for (std::size_t i = n, j = n; i-- > 0;) {
        for (; j > 0 && scores[i] - scores[j - 1] < 1.0; --j) {
            falling.add(members[j - 1].rank, members[j - 1].weight);
        }
        net_[i] = falling.below(members[i].rank);
        sum += members[i].weight * net_[i];
    }
    for (std::size_t i = 0, j = 0; i < n; ++i) {
        for (; j < n && scores[j] - scores[i] < 1.0; ++j) {
            rising.add(last - members[j].rank, members[j].weight);
        }
        net_[i] -= rising.below(last - members[i].rank);
    }
    return sum;
}

}  // namespace maxmargin
