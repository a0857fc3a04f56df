#include "cutting_plane/ranked_pairs.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "numeric/numbers.hpp"
#include "numeric/simd.hpp"
#include "run/chunks.hpp"

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

double RankedPairs::violated(const double* scores, double scale, double* coefficients, Team* team) {
    // Scores that are no numbers, of data that were changed meanwhile, cannot be sorted.
    std::atomic<bool> finite{true};
    Chunks(rows_.size(), rows_.size()).for_each(team, [&](std::size_t, std::size_t begin, std::size_t end) {
        if (!std::all_of(scores + begin, scores + end, [](double score) { return std::isfinite(score); })) {
            finite = false;
        }
    });
    if (!finite) {
        std::fill_n(coefficients, rows_.size(), 0.0);
        return std::numeric_limits<double>::quiet_NaN();
    }
    sums_.resize(groups_.size());
    auto visit = [&](std::size_t g, Scratch& scratch, Team* of_group) {
        const std::size_t start = groups_[g].start;
        sums_[g] = count_group(groups_[g], scores + start, scale, coefficients + start, scratch, of_group);
    };
    std::size_t in_small = 0;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
        if (groups_[g].is_large()) {
            visit(g, scratch_, team);
        } else {
            in_small += groups_[g].size;
        }
    }
    const Chunks small(groups_.size(), work_of_row * in_small);
    small.for_each(team, [&](std::size_t, std::size_t begin, std::size_t end) {
        Scratch own;
        for (std::size_t g = begin; g < end; ++g) {
            if (!groups_[g].is_large()) {
                visit(g, team == nullptr ? scratch_ : own, nullptr);
            }
        }
    });
    return std::accumulate(sums_.begin(), sums_.end(), 0.0);
}

double RankedPairs::count_group(const Group& group, const double* scores, double scale, double* result,
                                Scratch& scratch, Team* team) {
    const Member* members = members_.data() + group.start;
    if (group.listed) {
        const double sum = list(group, scores, result);
        for (std::size_t i = 0; i < group.size; ++i) {
            result[i] *= scale * members[i].weight;
        }
        return sum;
    }
    scratch.scores = scores;
    scratch.net.assign(group.size, 0.0);
    const double sum = group.ranks <= few_ranks ? merge_ranks(group, scratch, team) : sweep(group, scratch, team);
    Chunks(group.size, work_of_row * group.size).for_each(team, [&](std::size_t, std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            result[members[i].place] = scale * members[i].weight * scratch.net[i];
        }
    });
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

void RankedPairs::sort(Member* members, std::size_t size, double* sorted, Scratch& scratch, Team* team) {
    const double* scores = scratch.scores;
    sorted[-1] = -infinity;
    if (size <= few_rows) {  // by insertion, which is fast when the order has hardly changed
        for (std::size_t p = 0; p < size; ++p) {
            const Member member = members[p];
            const double score = scores[member.place];
            std::size_t i = p;
            for (; i > 0 && score < sorted[i - 1]; --i) {
                sorted[i] = sorted[i - 1];
                members[i] = members[i - 1];
            }
            sorted[i] = score;
            members[i] = member;
        }
        return;
    }
    scratch.unsorted.resize(size);
    scratch.moved.resize(size);
    const Chunks chunks(size, work_of_row * size);
    chunks.for_each(team, [&](std::size_t, std::size_t begin, std::size_t end) {
        for (std::size_t p = begin; p < end; ++p) {
            scratch.unsorted[p] = scores[members[p].place];
            scratch.moved[p] = members[p];
        }
    });
    const auto& order = scratch.sorter.sort(scratch.unsorted.data(), size, team);
    chunks.for_each(team, [&](std::size_t, std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            sorted[i] = scratch.unsorted[order[i].position];
            members[i] = scratch.moved[order[i].position];
        }
    });
}

double RankedPairs::list(const Group& group, const double* scores, double* net) const {
    const Member* members = members_.data() + group.start;
    double weights[few_to_list], sum = 0.0;
    std::size_t lower = 0;  // so many rows have a lower rank
    for (std::size_t i = 0; i < group.size; ++i) {
        weights[i] = members[i].weight;
        net[i] = 0.0;
        lower = i > 0 && members[i].rank > members[i - 1].rank ? i : lower;
        if (lower > 0) {
            net[i] = reach(scores[i], weights[i], scores, weights, net, lower);
            sum += weights[i] * net[i];
        }
    }
    return sum;
}

double RankedPairs::merge_ranks(const Group& group, Scratch& scratch, Team* team) {
    SortedRank ranks[few_ranks];
    scratch.sorted.resize(group.size + few_ranks);
    scratch.weights.resize(group.size + few_ranks);
    Member* members = members_.data() + group.start;
    std::size_t begin = 0;
    double sum = 0.0;
    for (std::size_t rank = 0; rank < group.ranks; ++rank) {
        std::size_t end = begin;
        while (end < group.size && members[end].rank == rank) {
            ++end;
        }
        const std::size_t size = end - begin;
        double *scores = scratch.sorted.data() + begin + rank + 1, *weights = scratch.weights.data() + begin + rank + 1;
        sort(members + begin, size, scores, scratch, team);
        weights[-1] = 0.0;
        Chunks(size, size).for_each(team, [&](std::size_t, std::size_t first, std::size_t last) {
            for (std::size_t i = first; i < last; ++i) {
                weights[i] = members[begin + i].weight;
            }
        });
        ranks[rank] = {scores, weights, scratch.net.data() + begin, size};
        for (std::size_t lower = 0; lower < rank; ++lower) {
            sum += merge(ranks[rank], ranks[lower], team);
        }
        begin = end;
    }
    return sum;
}

double RankedPairs::sweep(const Group& group, Scratch& scratch, Team* team) {
    Member* members = members_.data() + group.start;
    scratch.sorted.resize(group.size + 1);
    scratch.rising.resize(group.size);
    double* scores = scratch.sorted.data() + 1;
    sort(members, group.size, scores, scratch, team);
    const std::size_t n = group.size, last = group.ranks - 1;
    double sum = 0.0;
    auto fall = [&] {
        RankSums within_reach(group.ranks);
        for (std::size_t i = n, j = n; i-- > 0;) {
            for (; j > 0 && scores[i] - scores[j - 1] < 1.0; --j) {
                within_reach.add(members[j - 1].rank, members[j - 1].weight);
            }
            scratch.net[i] = within_reach.below(members[i].rank);
            sum += members[i].weight * scratch.net[i];
        }
    };
    auto rise = [&] {
        RankSums within_reach(group.ranks);
        for (std::size_t i = 0, j = 0; i < n; ++i) {
            for (; j < n && scores[j] - scores[i] < 1.0; ++j) {
                within_reach.add(last - members[j].rank, members[j].weight);
            }
            scratch.rising[i] = within_reach.below(last - members[i].rank);
        }
    };
    for_all(team, 2, [&](std::size_t way) { way == 0 ? fall() : rise(); });
    for (std::size_t i = 0; i < n; ++i) {
        scratch.net[i] -= scratch.rising[i];
    }
    return sum;
}

}  // namespace maxmargin
