// Pairs of rows of different rank, counted without being listed (Joachims 2006, Algorithm 2). Only rows of one group
// (query) form pairs; a pair counts by the product of its rows' weights. A pair is violated unless the score of its
// higher row exceeds that of the lower one by at least 1.
//
// A small group's pairs are simply listed. With few ranks, the rows of each rank are sorted by themselves and every two
// ranks are merged, as in the paper. With many, all rows are sorted together, and a Fenwick tree over ranks holds the
// weights within reach of a row. So a call takes O(n log n + n log R) for R ranks, where the paper's takes O(n log n +
// n R).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cutting_plane/merged_ranks.hpp"
#include "cutting_plane/sort_scores.hpp"
#include "numeric/huge_array.hpp"
#include "rows/row_source.hpp"
#include "run/team.hpp"

namespace maxmargin {

// Sums over the pairs of a group.
struct PairCounts {
    double all = 0.0;
    double swapped = 0.0;  // the lower rank has the higher score
    double tied = 0.0;     // both have the same score
};

class RankedPairs {
  public:
    // `groups` and `weights` may be empty: one group, weights of 1. Labels must be finite. Rows of weight zero and
    // groups of one rank form no pairs.
    RankedPairs(std::span<const double> labels, std::span<const std::int64_t> groups, std::span<const double> weights);

    // Rows that are part of a pair, group after group. Scores and coefficients below are in their order.
    const std::vector<RowIndex>& rows() const { return rows_; }
    std::size_t groups() const { return groups_.size(); }
    std::int64_t id(std::size_t g) const { return groups_[g].id; }
    // The sum of the weights of all pairs: m.
    double total() const { return total_; }

    // coefficients[p] = scale * weight (c^+ - c^-) of row p, the sums over violated pairs of which it is the higher or
    // the lower one; returns the sum over all violated pairs, not scaled. NaN if a score is no finite number. Large
    // groups are shared by the threads of a team, if there is one, and small ones dealt out to them.
    double violated(const double* scores, double scale, double* coefficients, Team* team = nullptr);

    // Whether all groups are so small that their pairs may be visited one by one.
    bool are_listed() const;
    // visit(higher row, lower row, weight) for every pair, with rows by their place in rows().
    template <class Visit>
    void for_each(const Visit& visit) const {
        for (const Group& group : groups_) {
            const Member* members = members_.data() + group.start;
            for (std::size_t i = 0; i < group.size; ++i) {
                for (std::size_t j = 0; j < i && members[j].rank < members[i].rank; ++j) {
                    visit(group.start + i, group.start + j, members[i].weight * members[j].weight);
                }
            }
        }
    }

    // How many pairs of a group have the wrong order.
    PairCounts count(std::size_t g, const double* scores) const;

  private:
    static constexpr std::size_t few_to_list = 128;
    static constexpr std::size_t few_ranks = 8;
    static constexpr std::size_t few_rows = 48;
    static constexpr std::size_t large_group = std::size_t{1} << 15;
    static constexpr std::size_t work_of_row = 16;  // in stored values

    struct Member {
        double weight;
        std::uint32_t rank;
        std::uint32_t place;  // in the group
    };

    struct Group {
        std::int64_t id;
        std::size_t start, size;  // in rows_ and members_
        std::size_t ranks;
        double pairs;
        bool listed;

        bool is_large() const { return size >= large_group; }
    };

    void add_group(std::int64_t id, std::span<const RowIndex> rows, std::span<const double> labels,
                   std::span<const double> weights);

    // What is known of the group at hand.
    struct Scratch {
        const double* scores = nullptr;
        ScoreSorter sorter;
        HugeVector<Member> moved;
        HugeVector<double> unsorted, sorted, weights, net, rising;
    };

    double count_group(const Group& group, const double* scores, double scale, double* result, Scratch& scratch,
                       Team* team);

    // Sorts members by rising score and writes their scores after a sentinel of minus infinity. The members stay in
    // this order for the next call, which mostly comes with similar scores: then this goes through memory nearly in
    // sequence.
    static void sort(Member* members, std::size_t size, double* sorted, Scratch& scratch, Team* team);

    // All pairs of a small group, one by one: there the loop over pairs, which lie side by side, is the fastest way.
    double list(const Group& group, const double* scores, double* net) const;

    // Each rank against all lower ones. Returns the sum over violated pairs.
    double merge_ranks(const Group& group, Scratch& scratch, Team* team);

    // All rows together, once by falling and once by rising score.
    double sweep(const Group& group, Scratch& scratch, Team* team);

    double total_ = 0.0;
    std::vector<RowIndex> rows_;
    std::vector<Member> members_;  // of each group by rank if these are few, then by score
    std::vector<Group> groups_;
    std::vector<double> sums_;  // of each group
    Scratch scratch_;
};

}  // namespace maxmargin
