#include "numeric/class_kernels.hpp"

#include <algorithm>

#include "numeric/compiler.hpp"
#include "numeric/constant_count.hpp"

namespace maxmargin {
namespace {

// Four doubles that may lie anywhere.
using Block MAXMARGIN_VECTOR(32, 8) = double;
static_assert(sizeof(Block) == class_block * sizeof(double));

// The scores of `blocks` blocks of classes stay in registers while the row goes by. Two sums for each hide the latency
// of additions where there are few blocks.
template <std::size_t blocks, class FeatureOf, class Value>
MAXMARGIN_INLINE void scores_of_blocks(const Value* values, FeatureOf feature, std::size_t n, const double* weights,
                                       std::size_t width, double* scores) {
    constexpr std::size_t rounds = blocks <= 4 ? 2 : 1;
    Block sums[rounds][blocks] = {};
    std::size_t k = 0;
    for (; k + rounds <= n; k += rounds) {
        MAXMARGIN_UNROLL
        for (std::size_t r = 0; r < rounds; ++r) {
            const Block* w = reinterpret_cast<const Block*>(weights + feature(k + r) * width);
            const double value = static_cast<double>(values[k + r]);
            MAXMARGIN_UNROLL
            for (std::size_t b = 0; b < blocks; ++b) {
                sums[r][b] += value * w[b];
            }
        }
    }
    for (; k < n; ++k) {
        const Block* w = reinterpret_cast<const Block*>(weights + feature(k) * width);
        MAXMARGIN_UNROLL
        for (std::size_t b = 0; b < blocks; ++b) {
            sums[0][b] += static_cast<double>(values[k]) * w[b];
        }
    }
    Block* result = reinterpret_cast<Block*>(scores);
    MAXMARGIN_UNROLL
    for (std::size_t b = 0; b < blocks; ++b) {
        result[b] += rounds == 2 ? sums[0][b] + sums[rounds - 1][b] : sums[0][b];
    }
}

template <class Value, class FeatureOf>
MAXMARGIN_INLINE void scores_loop(const Value* values, FeatureOf feature, std::size_t n, const double* weights,
                                  std::size_t width, double* scores) {
    constexpr std::size_t most = 8;
    for (std::size_t first = 0; first < width / class_block; first += most) {
        const std::size_t blocks = std::min(width / class_block - first, most);
        with_constant_count<most>(blocks, [&](auto count) MAXMARGIN_ALWAYS_INLINE {
            scores_of_blocks<count()>(values, feature, n, weights + first * class_block, width,
                                      scores + first * class_block);
        });
    }
}

// Where classes are few, their scores stay in registers too; any number is done four at a time.
template <std::size_t count, class FeatureOf, class Value>
MAXMARGIN_INLINE void some_scores_of(const Value* values, FeatureOf feature, std::size_t n, const double* weights,
                                     std::size_t width, const std::uint32_t* classes, double* scores) {
    double sums[count] = {};
    for (std::size_t k = 0; k < n; ++k) {
        const double* w = weights + feature(k) * width;
        MAXMARGIN_UNROLL
        for (std::size_t c = 0; c < count; ++c) {
            sums[c] += static_cast<double>(values[k]) * w[classes[c]];
        }
    }
    MAXMARGIN_UNROLL
    for (std::size_t c = 0; c < count; ++c) {
        scores[c] += sums[c];
    }
}

template <class Value, class FeatureOf>
MAXMARGIN_INLINE void some_scores_loop(const Value* values, FeatureOf feature, std::size_t n, const double* weights,
                                       std::size_t width, const std::uint32_t* classes, std::size_t count,
                                       double* scores) {
    for (; count > 4; count -= 4, classes += 4, scores += 4) {
        some_scores_of<4>(values, feature, n, weights, width, classes, scores);
    }
    with_constant_count<4>(count, [&](auto constant) MAXMARGIN_ALWAYS_INLINE {
        some_scores_of<constant()>(values, feature, n, weights, width, classes, scores);
    });
}

template <std::size_t blocks, class FeatureOf, class Value>
MAXMARGIN_INLINE void add_blocks(const Value* values, FeatureOf feature, std::size_t n, const std::size_t* which,
                                 const Block* changes, double* weights, std::size_t width) {
    std::size_t to[blocks];
    Block change[blocks];
    MAXMARGIN_UNROLL
    for (std::size_t b = 0; b < blocks; ++b) {
        to[b] = which[b];
        change[b] = changes[b];
    }
    for (std::size_t k = 0; k < n; ++k) {
        Block* w = reinterpret_cast<Block*>(weights + feature(k) * width);
        MAXMARGIN_UNROLL
        for (std::size_t b = 0; b < blocks; ++b) {
            w[to[b]] += static_cast<double>(values[k]) * change[b];
        }
    }
}

// Whole blocks, as the scores of the next row load them: a processor can forward a store that is still under way only
// to loads within it.
template <class Value, class FeatureOf>
MAXMARGIN_INLINE void add_loop(const Value* values, FeatureOf feature, std::size_t n, const std::uint32_t* classes,
                               const double* changes, std::size_t count, double* weights, std::size_t width) {
    constexpr std::size_t most = 6;
    while (count > 0) {
        std::size_t which[most];
        double change[most][class_block];
        std::size_t blocks = 0;
        for (; count > 0; --count, ++classes, ++changes) {
            const std::size_t block = *classes / class_block;
            std::size_t b = 0;
            while (b < blocks && which[b] != block) {
                ++b;
            }
            if (b == blocks) {
                if (blocks == most) {
                    break;
                }
                ++blocks;
                which[b] = block;
                std::fill_n(change[b], class_block, 0.0);
            }
            change[b][*classes % class_block] = *changes;
        }
        with_constant_count<most>(blocks, [&](auto constant) MAXMARGIN_ALWAYS_INLINE {
            add_blocks<constant()>(values, feature, n, which, reinterpret_cast<const Block*>(change), weights, width);
        });
    }
}

// The feature of the k-th stored entry of a row.
struct SparseFeature {
    ColumnIndices indices;
    MAXMARGIN_ALWAYS_INLINE std::size_t operator()(std::size_t k) const { return indices[k]; }
};
struct DenseFeature {
    MAXMARGIN_ALWAYS_INLINE std::size_t operator()(std::size_t k) const { return k; }
};

}  // namespace

MAXMARGIN_BLOCK_CLONES double largest_score(const double* scores, std::size_t width) {
    const Block* blocks = reinterpret_cast<const Block*>(scores);
    Block largest = blocks[0];
    for (std::size_t b = 1; b < width / class_block; ++b) {
        largest = blocks[b] > largest ? blocks[b] : largest;
    }
    return std::max(std::max(largest[0], largest[1]), std::max(largest[2], largest[3]));
}
MAXMARGIN_BLOCK_CLONES double sum_above(const double* scores, std::size_t width, double shift) {
    const Block* blocks = reinterpret_cast<const Block*>(scores);
    Block sum = {}, zero = {};
    for (std::size_t b = 0; b < width / class_block; ++b) {
        const Block shifted = blocks[b] + shift;
        sum += shifted > zero ? shifted : zero;
    }
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

// The attribute that compiles a function for several instruction sets goes with each function, not with a template.
#define MAXMARGIN_SPARSE_KERNELS(Value)                                                                                \
    template <>                                                                                                        \
    MAXMARGIN_BLOCK_CLONES void class_scores(const Value* x, ColumnIndices j, std::size_t n, const double* w,          \
                                             std::size_t k, double* scores) {                                          \
        scores_loop(x, SparseFeature{j}, n, w, k, scores);                                                             \
    }                                                                                                                  \
    template <>                                                                                                        \
    MAXMARGIN_BLOCK_CLONES void some_class_scores(const Value* x, ColumnIndices j, std::size_t n, const double* w,     \
                                                  std::size_t k, const std::uint32_t* c, std::size_t m,                \
                                                  double* scores) {                                                    \
        some_scores_loop(x, SparseFeature{j}, n, w, k, c, m, scores);                                                  \
    }                                                                                                                  \
    template <>                                                                                                        \
    MAXMARGIN_BLOCK_CLONES void add_to_classes(const Value* x, ColumnIndices j, std::size_t n, const std::uint32_t* c, \
                                               const double* changes, std::size_t m, double* w, std::size_t k) {       \
        add_loop(x, SparseFeature{j}, n, c, changes, m, w, k);                                                         \
    }
#define MAXMARGIN_DENSE_KERNELS(Value)                                                                                 \
    template <>                                                                                                        \
    MAXMARGIN_BLOCK_CLONES void class_scores(const Value* x, std::size_t n, const double* w, std::size_t k,            \
                                             double* s) {                                                              \
        scores_loop(x, DenseFeature{}, n, w, k, s);                                                                    \
    }                                                                                                                  \
    template <>                                                                                                        \
    MAXMARGIN_BLOCK_CLONES void some_class_scores(const Value* x, std::size_t n, const double* w, std::size_t k,       \
                                                  const std::uint32_t* c, std::size_t m, double* s) {                  \
        some_scores_loop(x, DenseFeature{}, n, w, k, c, m, s);                                                         \
    }                                                                                                                  \
    template <>                                                                                                        \
    MAXMARGIN_BLOCK_CLONES void add_to_classes(const Value* x, std::size_t n, const std::uint32_t* c, const double* d, \
                                               std::size_t m, double* w, std::size_t k) {                              \
        add_loop(x, DenseFeature{}, n, c, d, m, w, k);                                                                 \
    }
MAXMARGIN_SPARSE_KERNELS(float)
MAXMARGIN_SPARSE_KERNELS(double)
MAXMARGIN_DENSE_KERNELS(float)
MAXMARGIN_DENSE_KERNELS(double)

}  // namespace maxmargin
