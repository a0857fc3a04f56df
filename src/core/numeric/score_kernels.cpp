#include "numeric/score_kernels.hpp"

#include <algorithm>
#include <cstdint>

#include "numeric/clones.hpp"

namespace maxmargin {
namespace {

// Four doubles that may lie anywhere.
using Block = double __attribute__((vector_size(32), aligned(8), may_alias));
constexpr std::size_t block = 4;

// Sums over `rows` rows and `count` blocks of classes stay in registers while the features go by. The last block ends
// with the last class and may overlap the one before: what both compute is the same.
template <std::size_t rows, std::size_t count, class Value, class FeatureOf>
inline __attribute__((always_inline)) void add_up(const Value* values, std::size_t stride, FeatureOf feature,
                                                  std::size_t n, const double* weights, const double* intercepts,
                                                  std::size_t classes, std::size_t last, double* scores) {
    Block sums[rows][count] = {};
    for (std::size_t k = 0; k < n; ++k) {
        const double* w = weights + feature(k) * classes;
        for (std::size_t b = 0; b < count; ++b) {
            const Block from = *reinterpret_cast<const Block*>(w + (b + 1 < count ? b * block : last));
            for (std::size_t r = 0; r < rows; ++r) {
                sums[r][b] += static_cast<double>(values[r * stride + k]) * from;
            }
        }
    }
    for (std::size_t r = 0; r < rows; ++r) {
        for (std::size_t b = 0; b < count; ++b) {
            const std::size_t offset = b + 1 < count ? b * block : last;
            *reinterpret_cast<Block*>(scores + r * classes + offset) =
                sums[r][b] + *reinterpret_cast<const Block*>(intercepts + offset);
        }
    }
}

// Fewer classes than a block holds.
template <std::size_t rows, std::size_t count, class Value, class FeatureOf>
inline __attribute__((always_inline)) void add_up_few(const Value* values, std::size_t stride, FeatureOf feature,
                                                      std::size_t n, const double* weights, const double* intercepts,
                                                      double* scores) {
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
inline __attribute__((always_inline)) void all_classes(const Value* values, std::size_t stride, FeatureOf feature,
                                                       std::size_t n, const double* weights, const double* intercepts,
                                                       std::size_t classes, double* scores) {
    if (classes < block) {
        switch (classes) {
            case 1:
                return add_up_few<rows, 1>(values, stride, feature, n, weights, intercepts, scores);
            case 2:
                return add_up_few<rows, 2>(values, stride, feature, n, weights, intercepts, scores);
            default:
                return add_up_few<rows, 3>(values, stride, feature, n, weights, intercepts, scores);
        }
    }
    for (std::size_t first = 0; first < classes; first += most * block) {
        const std::size_t left = std::min((classes - first + block - 1) / block, most);
        // Counted from the first class of the group; only the last group's last block is not where it would be.
        const std::size_t end = std::min(first + left * block, classes);
        auto run = [&]<std::size_t count>() __attribute__((always_inline)) {
            if constexpr (count <= most) {
                // A group of a single block that overlaps begins before the group does.
                const std::size_t from = end - first < block ? end - block : first;
                add_up<rows, count>(values, stride, feature, n, weights + from, intercepts + from, classes,
                                    end - block - from, scores + from);
            }
        };
        switch (left) {
            case 1:
                run.template operator()<1>();
                break;
            case 2:
                run.template operator()<2>();
                break;
            case 3:
                run.template operator()<3>();
                break;
            case 4:
                run.template operator()<4>();
                break;
            case 5:
                run.template operator()<5>();
                break;
            case 6:
                run.template operator()<6>();
                break;
            case 7:
                run.template operator()<7>();
                break;
            default:
                run.template operator()<8>();
        }
    }
}

// Twelve blocks of sums and a few of weights fit into sixteen registers.
constexpr std::size_t rows_at_once = 4, blocks_at_once = 3;

template <class Value>
inline __attribute__((always_inline)) void dense_loop(const Value* values, std::size_t rows, std::size_t n,
                                                      const double* weights, const double* intercepts,
                                                      std::size_t classes, double* scores) {
    auto feature = [](std::size_t k) { return k; };
    for (; rows >= rows_at_once; rows -= rows_at_once) {
        all_classes<rows_at_once, blocks_at_once>(values, n, feature, n, weights, intercepts, classes, scores);
        values += rows_at_once * n;
        scores += rows_at_once * classes;
    }
    for (; rows > 0; --rows, values += n, scores += classes) {
        all_classes<1, 8>(values, n, feature, n, weights, intercepts, classes, scores);
    }
}

template <class Value, class Index>
inline __attribute__((always_inline)) void sparse_loop(const Value* values, const Index* indices, std::size_t n,
                                                       const double* weights, const double* intercepts,
                                                       std::size_t classes, double* scores) {
    auto feature = [indices](std::size_t k) { return static_cast<std::size_t>(indices[k]); };
    all_classes<1, 8>(values, n, feature, n, weights, intercepts, classes, scores);
}

using I32 = std::int32_t;
using I64 = std::int64_t;

}  // namespace

template <>
MAXMARGIN_CLONES void sparse_scores(const float* values, const I32* indices, std::size_t n, const double* weights,
                                    const double* intercepts, std::size_t classes, double* scores) {
    sparse_loop(values, indices, n, weights, intercepts, classes, scores);
}
template <>
MAXMARGIN_CLONES void sparse_scores(const float* values, const I64* indices, std::size_t n, const double* weights,
                                    const double* intercepts, std::size_t classes, double* scores) {
    sparse_loop(values, indices, n, weights, intercepts, classes, scores);
}
template <>
MAXMARGIN_CLONES void dense_scores(const float* values, std::size_t rows, std::size_t n, const double* weights,
                                   const double* intercepts, std::size_t classes, double* scores) {
    dense_loop(values, rows, n, weights, intercepts, classes, scores);
}
template <>
MAXMARGIN_CLONES void sparse_scores(const double* values, const I32* indices, std::size_t n, const double* weights,
                                    const double* intercepts, std::size_t classes, double* scores) {
    sparse_loop(values, indices, n, weights, intercepts, classes, scores);
}
template <>
MAXMARGIN_CLONES void sparse_scores(const double* values, const I64* indices, std::size_t n, const double* weights,
                                    const double* intercepts, std::size_t classes, double* scores) {
    sparse_loop(values, indices, n, weights, intercepts, classes, scores);
}
template <>
MAXMARGIN_CLONES void dense_scores(const double* values, std::size_t rows, std::size_t n, const double* weights,
                                   const double* intercepts, std::size_t classes, double* scores) {
    dense_loop(values, rows, n, weights, intercepts, classes, scores);
}

}  // namespace maxmargin
