// Two ranks of rows, each sorted by score, merged: how much weight of the one is within reach of each row of the other.
#pragma once

#include <cstddef>

#include "run/team.hpp"

namespace maxmargin {

// The rows of one rank by rising score.
struct SortedRank {
    const double* scores;   // after a sentinel of minus infinity
    const double* weights;  // after a zero
    double* net;            // c^+ - c^-
    std::size_t size;
};

// Adds to each higher row the weight of the lower ones within its reach, score - score < 1, and takes off each lower
// row that of the higher ones which reach it. Returns the sum over these pairs. By fixed pieces of the merged order, in
// the threads of a team if there is one: the same bits for any number of them.
double merge(const SortedRank& high, const SortedRank& low, Team* team);

}  // namespace maxmargin
