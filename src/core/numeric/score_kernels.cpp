#include "numeric/score_kernels.hpp"

#include <algorithm>
#include <cstdint>

#include "numeric/compiler.hpp"
#include "numeric/constant_count.hpp"

namespace maxmargin {
namespace {

// Four doubles that may lie anywhere.
using Block MAXMARGIN_VECTOR(32, 8) = double;
constexpr std::size_t block = 4, blocks_per_line = 2;

// The features of dense rows one after the other, and those of a sparse row, whose weights may lie anywhere: these are
// fetched some entries ahead.
struct Counted {
    static constexpr std::size_t ahead = 0;
    std::size_t operator()(std::size_t k) const { return k; }
};
struct Listed {
    static constexpr std::size_t ahead = 6;
    ColumnIndices indices;
    std::size_t operator()(std::size_t k) const { return indices[k]; }
};

// Sums over `rows` rows and `count` blocks of classes stay in registers while the features go by. The last block ends
// with the last class and may overlap the one before: what both compute is the same.
template <std::size_t rows, std::size_t count, class Value, class FeatureOf>
MAXMARGIN_INLINE void add_up(const Value* values, std::size_t stride, FeatureOf feature, std::size_t n,
                             const double* weights, const double* intercepts, std::size_t classes, std::size_t last,
                             double* scores) {
    Block sums[rows][count] = {};
    for (std::size_t k = 0; k < n; ++k) {
        const double* w = weights + feature(k) * classes;
        if (FeatureOf::ahead > 0 && k + FeatureOf::ahead < n) {
            const double* next = weights + feature(k + FeatureOf::ahead) * classes;
            MAXMARGIN_UNROLL
            for (std::size_t b = 0; b < count; b += blocks_per_line) {
                MAXMARGIN_PREFETCH(next + b * block);
            }
            MAXMARGIN_PREFETCH(next + last + block - 1);
        }
        MAXMARGIN_UNROLL
        for (std::size_t b = 0; b < count; ++b) {
            const Block from = *reinterpret_cast<const Block*>(w + (b + 1 < count ? b * block : last));
            MAXMARGIN_UNROLL
            for (std::size_t r = 0; r < rows; ++r) {
                sums[r][b] += static_cast<double>(values[r * stride + k]) * from;
            }
        }
    }
    MAXMARGIN_UNROLL
    for (std::size_t r = 0; r < rows; ++r) {
        MAXMARGIN_UNROLL
        for (std::size_t b = 0; b < count; ++b) {
            const std::size_t offset = b + 1 < count ? b * block : last;
            *reinterpret_cast<Block*>(scores + r * classes + offset) =
                sums[r][b] + *reinterpret_cast<const Block*>(intercepts + offset);
        }
    }
}

// Fewer classes than a block holds.
template <std::size_t rows, std::size_t count, class Value, class FeatureOf>
MAXMARGIN_INLINE void add_up_few(const Value* values, std::size_t stride, FeatureOf feature, std::size_t n,
                                 const double* weights, const double* intercepts, double* scores) {
    double sums[rows][count] = {};
    for (std::size_t k = 0; k < n; ++k) {
        const double* w = weights + feature(k) * count;
        for (std::size_t r = 0; r < rows; ++r) {
            for (std::size_t c = 0; c < count; ++c) {
                sums[r][c] += static_cast<double>(values[r * stride + k]) * w[c];
            }
        }
    }
    for (std::size_t r = 0; r < rows; ++r) {
        for (std::size_t c = 0; c < count; ++c) {
            scores[r * count + c] = sums[r][c] + intercepts[c];
        }
    }
}

// `most` blocks at a time.
template <std::size_t rows, std::size_t most, class Value, class FeatureOf>
MAXMARGIN_INLINE void all_classes(const Value* values, std::size_t stride, FeatureOf feature, std::size_t n,
                                  const double* weights, const double* intercepts, std::size_t classes,
                                  double* scores) {
    if (classes < block) {
        with_constant_count<block - 1>(classes, [&](auto count) MAXMARGIN_ALWAYS_INLINE {
            add_up_few<rows, count()>(values, stride, feature, n, weights, intercepts, scores);
        });
        return;
    }
    for (std::size_t first = 0; first < classes; first += most * block) {
        const std::size_t blocks = std::min((classes - first + block - 1) / block, most);
        const std::size_t end = std::min(first + blocks * block, classes);
        // A group of a single block that overlaps begins before the group does.
        const std::size_t from = end - first < block ? end - block : first;
        with_constant_count<most>(blocks, [&](auto count) MAXMARGIN_ALWAYS_INLINE {
            add_up<rows, count()>(values, stride, feature, n, weights + from, intercepts + from, classes,
                                  end - block - from, scores + from);
        });
    }
}

// Twelve blocks of sums and a few of weights fit into sixteen registers.
constexpr std::size_t rows_at_once = 4, blocks_at_once = 3;

template <class Value>
MAXMARGIN_INLINE void dense_loop(const Value* values, std::size_t rows, std::size_t n, const double* weights,
                                 const double* intercepts, std::size_t classes, double* scores) {
    const Counted feature;
    for (; rows >= rows_at_once; rows -= rows_at_once) {
        all_classes<rows_at_once, blocks_at_once>(values, n, feature, n, weights, intercepts, classes, scores);
        values += rows_at_once * n;
        scores += rows_at_once * classes;
    }
    for (; rows > 0; --rows, values += n, scores += classes) {
        all_classes<1, 8>(values, n, feature, n, weights, intercepts, classes, scores);
    }
}

template <class Value>
MAXMARGIN_INLINE void sparse_loop(const Value* values, ColumnIndices indices, std::size_t n, const double* weights,
                                  const double* intercepts, std::size_t classes, double* scores) {
    const Listed feature{indices};
    all_classes<1, 15>(values, n, feature, n, weights, intercepts, classes, scores);
}

}  // namespace

// See class_kernels.cpp for why these are macros.
#define MAXMARGIN_SPARSE_SCORES(Value)                                                                         \
    template <>                                                                                                \
    MAXMARGIN_BLOCK_CLONES void sparse_scores(const Value* x, ColumnIndices j, std::size_t n, const double* w, \
                                              const double* b, std::size_t classes, double* scores) {          \
        sparse_loop(x, j, n, w, b, classes, scores);                                                           \
    }
#define MAXMARGIN_DENSE_SCORES(Value)                                                                          \
    template <>                                                                                                \
    MAXMARGIN_BLOCK_CLONES void dense_scores(const Value* x, std::size_t rows, std::size_t n, const double* w, \
                                             const double* b, std::size_t classes, double* scores) {           \
        dense_loop(x, rows, n, w, b, classes, scores);                                                         \
    }
MAXMARGIN_SPARSE_SCORES(float)
MAXMARGIN_SPARSE_SCORES(double)
MAXMARGIN_DENSE_SCORES(float)
MAXMARGIN_DENSE_SCORES(double)

}  // namespace maxmargin
