#include "numeric/simd.hpp"

#include <algorithm>

#include "numeric/compiler.hpp"

namespace maxmargin {
namespace {

// Eight independent sums: enough for the compiler to keep vector lanes busy without reordering additions on its own.
template <class Value, class Other>
MAXMARGIN_INLINE double dot_loop(const Value* x, const Other* w, std::size_t n) {
    double sums[8] = {};
    std::size_t k = 0;
    for (; k + 8 <= n; k += 8) {
        for (std::size_t j = 0; j < 8; ++j) {
            sums[j] += static_cast<double>(x[k + j]) * static_cast<double>(w[k + j]);
        }
    }
    for (; k < n; ++k) {
        sums[0] += static_cast<double>(x[k]) * static_cast<double>(w[k]);
    }
    return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

template <class Value>
MAXMARGIN_INLINE void axpy_loop(double a, const Value* x, double* w, std::size_t n) {
    for (std::size_t k = 0; k < n; ++k) {
        w[k] += a * static_cast<double>(x[k]);
    }
}

template <class Value>
MAXMARGIN_INLINE void axpy_four_loop(const double* a, const Value* const* x, double* w, std::size_t n) {
    const double a0 = a[0], a1 = a[1], a2 = a[2], a3 = a[3];
    const Value *x0 = x[0], *x1 = x[1], *x2 = x[2], *x3 = x[3];
    for (std::size_t k = 0; k < n; ++k) {
        w[k] += (a0 * static_cast<double>(x0[k]) + a1 * static_cast<double>(x1[k])) +
                (a2 * static_cast<double>(x2[k]) + a3 * static_cast<double>(x3[k]));
    }
}

// Rows may be short, so that the loop over them is in here as well.
template <class Value, class Start>
MAXMARGIN_INLINE void squares_loop(const Value* x, const Start* starts, std::size_t stride, std::size_t rows,
                                   double* squares) {
    constexpr std::size_t lanes = 4;
    using Lanes MAXMARGIN_VECTOR(lanes * sizeof(double), 8) = double;
    using Values MAXMARGIN_VECTOR(lanes * sizeof(Value), sizeof(Value)) = Value;
    for (std::size_t r = 0; r < rows; ++r, starts += stride) {
        auto k = static_cast<std::size_t>(starts[0]);
        const auto last = static_cast<std::size_t>(starts[1]);
        Lanes sums = {}, others = {};
        for (; k + 2 * lanes <= last; k += 2 * lanes) {
            const Lanes a = MAXMARGIN_CONVERT(*reinterpret_cast<const Values*>(x + k), Lanes);
            const Lanes b = MAXMARGIN_CONVERT(*reinterpret_cast<const Values*>(x + k + lanes), Lanes);
            sums += a * a;
            others += b * b;
        }
        sums += others;
        if (k + lanes <= last) {
            const Lanes a = MAXMARGIN_CONVERT(*reinterpret_cast<const Values*>(x + k), Lanes);
            sums += a * a;
            k += lanes;
        }
        double sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
        for (; k < last; ++k) {
            sum += static_cast<double>(x[k]) * static_cast<double>(x[k]);
        }
        squares[r] = sum;
    }
}

// Each entry that is loaded serves several products.
MAXMARGIN_INLINE void products_loop(const double* four, const double* two, std::size_t stride, std::size_t n,
                                    double* products) {
    constexpr std::size_t lanes = 4;
    using Lanes MAXMARGIN_VECTOR(lanes * sizeof(double), 8) = double;
    Lanes sums[2][4] = {};
    std::size_t k = 0;
    for (; k + lanes <= n; k += lanes) {
        for (std::size_t c = 0; c < 2; ++c) {
            const Lanes b = *reinterpret_cast<const Lanes*>(two + c * stride + k);
            for (std::size_t r = 0; r < 4; ++r) {
                sums[c][r] += *reinterpret_cast<const Lanes*>(four + r * stride + k) * b;
            }
        }
    }
    for (std::size_t c = 0; c < 2; ++c) {
        for (std::size_t r = 0; r < 4; ++r) {
            double sum = (sums[c][r][0] + sums[c][r][1]) + (sums[c][r][2] + sums[c][r][3]);
            for (std::size_t j = k; j < n; ++j) {
                sum += four[r * stride + j] * two[c * stride + j];
            }
            products[4 * c + r] = sum;
        }
    }
}

// Four rows at a time. Which of them count is a mask: as a jump it would be mispredicted all the time.
using FourRows MAXMARGIN_VECTOR(4 * sizeof(double), 8) = double;
using FourMasks MAXMARGIN_VECTOR(4 * sizeof(double), 8) = std::int64_t;

MAXMARGIN_INLINE double slope_loop(const std::uint32_t* rows, const double* x, std::size_t n, const double* r,
                                   double lower, double& squares) {
    const FourRows limit = {lower, lower, lower, lower};
    FourRows sums = {}, square_sums = {};
    std::size_t k = 0;
    for (; k + 4 <= n; k += 4) {
        const FourRows value = {r[rows[k]], r[rows[k + 1]], r[rows[k + 2]], r[rows[k + 3]]};
        const FourRows own = *reinterpret_cast<const FourRows*>(x + k);
        const FourMasks above = value > limit;
        sums += reinterpret_cast<FourRows>(reinterpret_cast<FourMasks>(value) & above) * own;
        square_sums += reinterpret_cast<FourRows>(reinterpret_cast<FourMasks>(own) & above) * own;
    }
    double sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    squares = (square_sums[0] + square_sums[1]) + (square_sums[2] + square_sums[3]);
    for (; k < n; ++k) {
        const double value = r[rows[k]];
        if (value > lower) {
            sum += value * x[k];
            squares += x[k] * x[k];
        }
    }
    return sum;
}

MAXMARGIN_INLINE double move_loop(const std::uint32_t* rows, const double* x, std::size_t n, double d, double* r,
                                  double lower) {
    const FourRows limit = {lower, lower, lower, lower}, step = {d, d, d, d};
    FourRows sums = {};
    std::size_t k = 0;
    for (; k + 4 <= n; k += 4) {
        FourRows value = {r[rows[k]], r[rows[k + 1]], r[rows[k + 2]], r[rows[k + 3]]};
        const FourRows own = *reinterpret_cast<const FourRows*>(x + k);
        value -= step * own;
        for (std::size_t q = 0; q < 4; ++q) {
            r[rows[k + q]] = value[q];
        }
        const FourMasks above = value > limit;
        sums += reinterpret_cast<FourRows>(reinterpret_cast<FourMasks>(value) & above) * own;
    }
    double sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    for (; k < n; ++k) {
        const double value = r[rows[k]] -= d * x[k];
        sum += value > lower ? value * x[k] : 0.0;
    }
    return sum;
}

// In blocks, and as three loops, because these are what vectorises.
MAXMARGIN_INLINE double reach_loop(double score, double weight, const double* scores, const double* weights,
                                   double* net, std::size_t n) {
    constexpr std::size_t block = 64;
    double reached[block], sum = 0.0;
    for (std::size_t first = 0; first < n; first += block) {
        const std::size_t size = std::min(block, n - first);
        for (std::size_t k = 0; k < size; ++k) {
            reached[k] = score - scores[first + k] < 1.0 ? 1.0 : 0.0;
        }
        sum += dot_loop(reached, weights + first, size);
        axpy_loop(-weight, reached, net + first, size);
    }
    return sum;
}

template <class Unsigned, class Index>
MAXMARGIN_INLINE std::uint64_t largest_loop(const Index* indices, std::size_t n) {
    Unsigned largest = 0;
    for (std::size_t k = 0; k < n; ++k) {
        largest = std::max(largest, static_cast<Unsigned>(indices[k]));
    }
    return largest;
}

// Counts in blocks, because counters of the indices' own width are the ones that vectorise.
template <class Index>
MAXMARGIN_INLINE std::size_t falls_loop(const Index* indices, std::size_t n) {
    constexpr std::size_t block = 4096;
    std::size_t falls = 0;
    for (std::size_t first = 1; first < n; first += block) {
        Index count = 0;
        for (std::size_t k = first; k < std::min(first + block, n); ++k) {
            count += indices[k - 1] >= indices[k] ? 1 : 0;
        }
        falls += static_cast<std::size_t>(count);
    }
    return falls;
}

using I32 = std::int32_t;
using I64 = std::int64_t;

}  // namespace

MAXMARGIN_CLONES double dense_dot(const float* x, const double* w, std::size_t n) {
    return dot_loop(x, w, n);
}
MAXMARGIN_CLONES double dense_dot(const double* x, const double* w, std::size_t n) {
    return dot_loop(x, w, n);
}
MAXMARGIN_CLONES void dense_axpy_four(const double* a, const float* const* x, double* w, std::size_t n) {
    axpy_four_loop(a, x, w, n);
}
MAXMARGIN_CLONES void dense_axpy_four(const double* a, const double* const* x, double* w, std::size_t n) {
    axpy_four_loop(a, x, w, n);
}
MAXMARGIN_BLOCK_CLONES void dense_products(const double* four, const double* two, std::size_t stride, std::size_t n,
                                           double* products) {
    products_loop(four, two, stride, n, products);
}
MAXMARGIN_CLONES double reach(double score, double weight, const double* scores, const double* weights, double* net,
                              std::size_t n) {
    return reach_loop(score, weight, scores, weights, net, n);
}
MAXMARGIN_CLONES double dense_squared_norm(const float* x, std::size_t n) {
    return dot_loop(x, x, n);
}
MAXMARGIN_CLONES double dense_squared_norm(const double* x, std::size_t n) {
    return dot_loop(x, x, n);
}
#define MAXMARGIN_SQUARES(Value, Start)                                                                       \
    MAXMARGIN_BLOCK_CLONES void sparse_squared_norms(const Value* x, const Start* starts, std::size_t stride, \
                                                     std::size_t rows, double* squares) {                     \
        squares_loop(x, starts, stride, rows, squares);                                                       \
    }
MAXMARGIN_SQUARES(float, I32)
MAXMARGIN_SQUARES(float, I64)
MAXMARGIN_SQUARES(double, I32)
MAXMARGIN_SQUARES(double, I64)
MAXMARGIN_CLONES void dense_axpy(double a, const float* x, double* w, std::size_t n) {
    axpy_loop(a, x, w, n);
}
MAXMARGIN_CLONES void dense_axpy(double a, const double* x, double* w, std::size_t n) {
    axpy_loop(a, x, w, n);
}
MAXMARGIN_CLONES std::uint64_t largest_index(const I32* i, std::size_t n) {
    return largest_loop<std::uint32_t>(i, n);
}
MAXMARGIN_CLONES std::uint64_t largest_index(const I64* i, std::size_t n) {
    return largest_loop<std::uint64_t>(i, n);
}
MAXMARGIN_CLONES std::size_t count_falls(const I32* i, std::size_t n) {
    return falls_loop(i, n);
}
MAXMARGIN_CLONES std::size_t count_falls(const I64* i, std::size_t n) {
    return falls_loop(i, n);
}

// Counters of one byte, emptied before they can overflow, let one instruction handle as many characters as fit.
MAXMARGIN_CLONES void count_characters(const char* text, std::size_t n, char a, char b, std::size_t& count_a,
                                       std::size_t& count_b) {
    constexpr std::size_t lanes = 64, rounds = 255;
    count_a = count_b = 0;
    std::size_t i = 0;
    while (i + lanes <= n) {
        std::uint8_t found_a[lanes] = {}, found_b[lanes] = {};
        for (std::size_t round = 0; round < rounds && i + lanes <= n; ++round, i += lanes) {
            for (std::size_t j = 0; j < lanes; ++j) {
                found_a[j] = static_cast<std::uint8_t>(found_a[j] + (text[i + j] == a));
                found_b[j] = static_cast<std::uint8_t>(found_b[j] + (text[i + j] == b));
            }
        }
        for (std::size_t j = 0; j < lanes; ++j) {
            count_a += found_a[j];
            count_b += found_b[j];
        }
    }
    for (; i < n; ++i) {
        count_a += text[i] == a;
        count_b += text[i] == b;
    }
}

MAXMARGIN_BLOCK_CLONES double column_slope(const std::uint32_t* rows, const double* x, std::size_t n, const double* r,
                                           double lower, double& squares) {
    return slope_loop(rows, x, n, r, lower, squares);
}
MAXMARGIN_BLOCK_CLONES double column_move(const std::uint32_t* rows, const double* x, std::size_t n, double d,
                                          double* r, double lower) {
    return move_loop(rows, x, n, d, r, lower);
}

}  // namespace maxmargin
