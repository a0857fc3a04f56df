// The sub-problem of one row, (10) and (21) of Keerthi et al. 2008, solved exactly.
//
// With a_m >= 0 for the classes m other than the row's own (the dual variables of Weston-Watkins; for Crammer-Singer
// a_m = -alpha_m, and alpha of the own class is their sum) both read, up to a factor and a constant,
//
//     min 1/2 |a|^2 + 1/2 (sum a)^2 - t'a     with  sum a <= C  (Crammer-Singer)  or  a_m <= C  (Weston-Watkins)
//
// where t_m = z_m / |x|^2 + (a_m + sum a) of the variables before the step, and z_m = 1 - (w_y - w_m).x. So a_m is
// t_m - level, clipped to the bounds, and only the level has to be found: it is sum a, or, where Crammer-Singer's bound
// holds it back, what makes the sum equal to C.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "numeric/numbers.hpp"

namespace maxmargin {

enum class Formulation { crammer_singer, weston_watkins };

struct ClassValue {
    std::uint32_t which;
    double value;
};

// No class whose t is at most this gets a share: the level that the largest t alone asks for.
inline double lowest_level(Formulation formulation, double largest, double C) {
    if (formulation == Formulation::crammer_singer) {
        return std::max(0.5 * largest, largest - C);
    }
    return std::min(0.5 * largest, C);
}

// Crammer-Singer: the level rises with every class that is left out because it lies below, and classes are left out
// until all that are left lie above (Michelot 1986). That needs no sorting.
inline double crammer_singer_level(std::span<const ClassValue> classes, double C) {
    double level = 0.0;
    for (const ClassValue& c : classes) {
        level = std::max(level, c.value);
    }
    level = lowest_level(Formulation::crammer_singer, level, C);
    for (std::size_t before = classes.size() + 1;;) {
        double sum = 0.0;
        std::size_t above = 0;
        for (const ClassValue& c : classes) {
            const bool is_above = c.value > level;
            sum += is_above ? c.value : 0.0;
            above += is_above ? 1 : 0;
        }
        if (above >= before || above == 0) {  // rounding may bring back a class that lies at the level
            return level;
        }
        before = above;
        const auto count = static_cast<double>(above);
        level = std::max(sum / (count + 1.0), (sum - C) / count);
    }
}

// Weston-Watkins: the level falls past t_m, where class m leaves its lower bound, and past t_m - C, where it reaches
// the upper one.
inline double weston_watkins_level(std::span<const ClassValue> sorted, double C) {
    double sum = 0.0;  // of t over the free classes and of C over those at the bound
    std::size_t entered = 0, capped = 0;
    while (true) {
        const double level = sum / static_cast<double>(entered - capped + 1);
        const double enters = entered < sorted.size() ? sorted[entered].value : -infinity;
        const double leaves = capped < entered ? sorted[capped].value - C : -infinity;
        if (!(level < std::max(enters, leaves))) {
            return level;
        }
        if (enters >= leaves) {
            sum += enters;
            ++entered;
        } else {
            sum += C - sorted[capped].value;
            ++capped;
        }
    }
}

// The largest first.
inline void sort_by_value(std::span<ClassValue> classes) {
    auto larger = [](const ClassValue& a, const ClassValue& b) { return a.value > b.value; };
    if (classes.size() > 16) {
        std::sort(classes.begin(), classes.end(), larger);
        return;
    }
    for (std::size_t n = 1; n < classes.size(); ++n) {
        const ClassValue moved = classes[n];
        std::size_t k = n;
        for (; k > 0 && larger(moved, classes[k - 1]); --k) {
            classes[k] = classes[k - 1];
        }
        classes[k] = moved;
    }
}

// Replaces every t by a. Returns the sum of the a. Values that are no numbers, which only data that are changed
// meanwhile can bring about, would upset the sorting and get no share.
inline double solve_subproblem(Formulation formulation, std::span<ClassValue> classes, double C) {
    for (ClassValue& c : classes) {
        c.value = c.value > -infinity ? c.value : -infinity;
    }
    const bool weston_watkins = formulation == Formulation::weston_watkins;
    if (weston_watkins) {
        sort_by_value(classes);
    }
    const double level = weston_watkins ? weston_watkins_level(classes, C) : crammer_singer_level(classes, C);
    double sum = 0.0;
    for (ClassValue& c : classes) {
        c.value = clip(c.value - level, 0.0, C);
        sum += c.value;
    }
    if (!weston_watkins && sum > C) {  // by rounding
        for (ClassValue& c : classes) {
            c.value *= C / sum;
        }
        sum = C;
    }
    return sum;
}

}  // namespace maxmargin
