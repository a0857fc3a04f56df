#include "numeric/joint_kernels.hpp"

#include "numeric/compiler.hpp"
#include "numeric/constant_count.hpp"

namespace maxmargin {
namespace {

constexpr std::size_t lanes_of_block = 4, blocks = joint_width / lanes_of_block;

// Four doubles that may lie anywhere, four comparisons of them, and four signs.
using Block MAXMARGIN_VECTOR(32, 8) = double;
using Mask = decltype(Block{} < Block{});
using Signs MAXMARGIN_VECTOR(4, 1) = std::int8_t;

MAXMARGIN_INLINE Block load(const double* p) {
    return *reinterpret_cast<const Block*>(p);
}
MAXMARGIN_INLINE void store(double* p, Block value) {
    *reinterpret_cast<Block*>(p) = value;
}
MAXMARGIN_INLINE Block smaller(Block a, Block b) {
    return a < b ? a : b;
}
MAXMARGIN_INLINE Block larger(Block a, Block b) {
    return a > b ? a : b;
}
MAXMARGIN_INLINE Block as_doubles(const std::int8_t* signs) {
    return MAXMARGIN_CONVERT(*reinterpret_cast<const Signs*>(signs), Block);
}
MAXMARGIN_INLINE bool all(Mask mask) {
    return (mask[0] & mask[1] & mask[2] & mask[3]) != 0;
}
MAXMARGIN_INLINE bool any(Mask mask) {
    return (mask[0] | mask[1] | mask[2] | mask[3]) != 0;
}

MAXMARGIN_INLINE void add_product(double x, const double* weights, Block (&sums)[blocks]) {
    for (std::size_t b = 0; b < blocks; ++b) {
        sums[b] += x * load(weights + b * lanes_of_block);
    }
}

// Two sums for each block hide the latency of additions.
template <class Value, class Index>
MAXMARGIN_INLINE void add_products(const Value* x, const Index* columns, std::size_t count, const double* weights,
                                   Block (&even)[blocks], Block (&odd)[blocks]) {
    std::size_t k = 0;
    for (; k + 2 <= count; k += 2) {
        add_product(static_cast<double>(x[k]), weights + std::size_t{columns[k]} * joint_width, even);
        add_product(static_cast<double>(x[k + 1]), weights + std::size_t{columns[k + 1]} * joint_width, odd);
    }
    if (k < count) {
        add_product(static_cast<double>(x[k]), weights + std::size_t{columns[k]} * joint_width, even);
    }
}

template <class Value>
MAXMARGIN_INLINE void find_scores(const RowEntries<Value>& row, const double* weights, double column,
                                  const double* bias, Block (&scores)[blocks]) {
    Block even[blocks] = {}, odd[blocks] = {};
    add_products(row.values, row.near, row.near_count, weights, even, odd);
    add_products(row.values + row.near_count, row.far, row.count - row.near_count, weights, even, odd);
    if (row.last_value != 0.0) {
        add_product(row.last_value, weights + row.last_column * joint_width, odd);
    }
    for (std::size_t b = 0; b < blocks; ++b) {
        scores[b] = (even[b] + odd[b]) + column * load(bias + b * lanes_of_block);
    }
}

MAXMARGIN_INLINE void add_one(double x, const Block (&changes)[blocks], double* to) {
    for (std::size_t b = 0; b < blocks; ++b) {
        store(to + b * lanes_of_block, load(to + b * lanes_of_block) + x * changes[b]);
    }
}

template <class Value>
MAXMARGIN_INLINE void add(const RowEntries<Value>& row, const Block (&changes)[blocks], double* weights) {
    std::size_t k = 0;
    for (; k < row.near_count; ++k) {
        add_one(static_cast<double>(row.values[k]), changes, weights + std::size_t{row.near[k]} * joint_width);
    }
    for (const std::uint32_t* column = row.far; k < row.count; ++k, ++column) {
        add_one(static_cast<double>(row.values[k]), changes, weights + std::size_t{*column} * joint_width);
    }
    if (row.last_value != 0.0) {
        add_one(row.last_value, changes, weights + row.last_column * joint_width);
    }
}

// The loss of a row with slack z; `upper` is zero where it takes no part.
MAXMARGIN_INLINE Block loss_of(Block z, Block upper, double D, bool has_lower) {
    const Block zero = {};
    if (D > 0.0) {
        const Block alpha = has_lower ? smaller(larger(z / D, zero), upper) : z / D;
        return alpha * (z - 0.5 * D * alpha);
    }
    return upper * larger(z, zero);
}

// Its share of the gap beside the loss.
MAXMARGIN_INLINE Block rest_of_gap(Block beta, Block sign, Block score, double D) {
    return beta * (0.5 * D * beta - (sign - score));
}

template <class Value>
MAXMARGIN_INLINE JointVisit visit(const JointLoss& loss, const JointRow& row, const RowEntries<Value>& entries,
                                  const std::int8_t* signs, double* beta, double* weights, JointLanes& lanes) {
    constexpr double unbounded = 1e300;
    const Block zero = {};
    Block scores[blocks], changes[blocks];
    find_scores(entries, weights, loss.column, lanes.bias, scores);
    const double D = row.diagonal, curvature = row.curvature;
    const double inverse = curvature > 0.0 ? 1.0 / curvature : unbounded;  // a zero row goes to its bound at once
    bool hidden = true, moved = false;
    for (std::size_t b = 0; b < blocks; ++b) {
        const std::size_t m = b * lanes_of_block;
        const Block sign = as_doubles(signs + m), before = load(beta + m);
        const Block part = sign * sign, bound = sign * row.upper;
        const Block slope = sign - scores[b] - D * before, gradient = -sign * slope;
        const Block share = part * loss_of(part - sign * scores[b], part * row.upper, D, loss.has_lower);
        store(lanes.gap + m, load(lanes.gap + m) + share + rest_of_gap(before, sign, scores[b], D));
        Block violation = gradient, low = part * -unbounded, high = part * unbounded;
        Mask quiet = sign == zero;
        if (loss.has_lower) {
            const Mask at_zero = before == zero, at_bound = before == bound;
            violation = at_zero ? smaller(gradient, zero) : (at_bound ? larger(gradient, zero) : gradient);
            quiet |= (at_zero & (gradient > load(lanes.above + m))) | (at_bound & (gradient < load(lanes.below + m)));
            low = smaller(bound, zero);
            high = larger(bound, zero);
        }
        hidden = hidden && all(quiet);
        const Block counted = quiet ? zero : violation;
        store(lanes.highest + m, larger(load(lanes.highest + m), counted));
        store(lanes.lowest + m, smaller(load(lanes.lowest + m), counted));
        const Block after = smaller(larger(before + slope * inverse, low), high), change = after - before;
        store(lanes.gain + m, load(lanes.gain + m) + change * (slope - 0.5 * curvature * change));
        store(beta + m, after);
        changes[b] = change;
        moved = moved || any(change != zero);
    }
    if (!moved) {
        return hidden ? JointVisit::hidden : JointVisit::still;
    }
    add(entries, changes, weights);
    for (std::size_t b = 0; b < blocks; ++b) {
        double* bias = lanes.bias + b * lanes_of_block;
        store(bias, load(bias) + loss.bias_step * changes[b]);
    }
    return JointVisit::moved;
}

template <class Value>
MAXMARGIN_INLINE void add_beta(const RowEntries<Value>& entries, const double* beta, double* weights) {
    Block changes[blocks];
    for (std::size_t b = 0; b < blocks; ++b) {
        changes[b] = load(beta + b * lanes_of_block);
    }
    add(entries, changes, weights);
}

template <class Value>
MAXMARGIN_INLINE void losses_of(const JointLoss& loss, const JointRow& row, const RowEntries<Value>& entries,
                                const std::int8_t* signs, const double* beta, const double* weights, const double* bias,
                                double* losses, double* gaps) {
    Block scores[blocks];
    find_scores(entries, weights, loss.column, bias, scores);
    for (std::size_t b = 0; b < blocks; ++b) {
        const std::size_t m = b * lanes_of_block;
        const Block sign = as_doubles(signs + m), part = sign * sign;
        const Block own = part * loss_of(part - sign * scores[b], part * row.upper, row.diagonal, loss.has_lower);
        store(losses + m, load(losses + m) + own);
        store(gaps + m, load(gaps + m) + own + rest_of_gap(load(beta + m), sign, scores[b], row.diagonal));
    }
}

template <class Value>
MAXMARGIN_INLINE void slopes_of(const JointLoss& loss, const JointRow& row, const RowEntries<Value>& entries,
                                const std::int8_t* signs, const double* weights, const double* bias, double* beta,
                                double* losses, double* terms, double* sums, double* bias_sums) {
    const Block zero = {};
    Block scores[blocks], changes[blocks];
    find_scores(entries, weights, loss.column, bias, scores);
    const double D = row.diagonal, inverse = 1.0 / D;
    bool moved = false;
    for (std::size_t b = 0; b < blocks; ++b) {
        const std::size_t m = b * lanes_of_block;
        const Block sign = as_doubles(signs + m), part = sign * sign, z = part - sign * scores[b];
        const Block alpha = loss.has_lower ? larger(z * inverse, zero) : z * inverse;
        store(losses + m, load(losses + m) + alpha * (z - 0.5 * D * alpha));
        store(terms + m, load(terms + m) + alpha * (part - 0.5 * D * alpha));
        changes[b] = sign * alpha;
        store(beta + m, changes[b]);
        store(bias_sums + m, load(bias_sums + m) + loss.column * changes[b]);
        moved = moved || any(changes[b] != zero);
    }
    if (moved) {
        add(entries, changes, sums);
    }
}

}  // namespace

// The attribute that compiles a function for several instruction sets goes with each function, not with a template.
#define MAXMARGIN_JOINT_KERNELS(Value)                                                                                \
    template <>                                                                                                       \
    MAXMARGIN_BLOCK_CLONES JointVisit joint_visit(const JointLoss& loss, const JointRow& row,                         \
                                                  const RowEntries<Value>& entries, const std::int8_t* signs,         \
                                                  double* beta, double* weights, JointLanes& lanes) {                 \
        return visit(loss, row, entries, signs, beta, weights, lanes);                                                \
    }                                                                                                                 \
    template <>                                                                                                       \
    MAXMARGIN_BLOCK_CLONES void joint_add(const RowEntries<Value>& entries, const double* beta, double* weights) {    \
        add_beta(entries, beta, weights);                                                                             \
    }                                                                                                                 \
    template <>                                                                                                       \
    MAXMARGIN_BLOCK_CLONES void joint_losses(                                                                         \
        const JointLoss& loss, const JointRow& row, const RowEntries<Value>& entries, const std::int8_t* signs,       \
        const double* beta, const double* weights, const double* bias, double* losses, double* gaps) {                \
        losses_of(loss, row, entries, signs, beta, weights, bias, losses, gaps);                                      \
    }                                                                                                                 \
    template <>                                                                                                       \
    MAXMARGIN_BLOCK_CLONES void joint_slopes(const JointLoss& loss, const JointRow& row,                              \
                                             const RowEntries<Value>& entries, const std::int8_t* signs,              \
                                             const double* weights, const double* bias, double* beta, double* losses, \
                                             double* terms, double* sums, double* bias_sums) {                        \
        slopes_of(loss, row, entries, signs, weights, bias, beta, losses, terms, sums, bias_sums);                    \
    }
MAXMARGIN_JOINT_KERNELS(float)
MAXMARGIN_JOINT_KERNELS(double)

}  // namespace maxmargin
