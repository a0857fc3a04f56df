#include "numeric/slope_kernels.hpp"

#include "numeric/compiler.hpp"
#include "numeric/numbers.hpp"

namespace maxmargin {
namespace {

// Four numbers at a time; what is left over goes one by one, by the same formulas.
constexpr std::size_t lanes = 4;
using Lanes MAXMARGIN_VECTOR(lanes * sizeof(double), 8) = double;

MAXMARGIN_INLINE Lanes load(const double* x) {
    return *reinterpret_cast<const Lanes*>(x);
}
MAXMARGIN_INLINE double total(Lanes sums) {
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

template <class T>
MAXMARGIN_INLINE T clip_each(T a, T lower, T upper) {
    a = a > lower ? a : lower;
    return a < upper ? a : upper;
}

template <class T>
MAXMARGIN_INLINE T outside(const SlopeShape& shape, T z) {
    const T epsilon = z * 0.0 + shape.epsilon;
    return z - clip_each(z, -epsilon, epsilon);
}

template <class T>
struct Slopes {
    T distance, free, slope;

    MAXMARGIN_ALWAYS_INLINE Slopes(const SlopeShape& shape, T z, T C)
        : distance(outside(shape, z)),
          free(distance * (C * shape.scale)),
          slope(clip_each(free, C * shape.lower, C * shape.upper)) {}

    // The given values where the loss is curved, and zero elsewhere.
    MAXMARGIN_ALWAYS_INLINE T where_curved(const SlopeShape& shape, T values) const {
        const T zero = free * 0.0, own = slope == free ? values : zero;
        return shape.flat_at_zero ? (slope == zero ? zero : own) : own;
    }
};

template <class T>
struct LossParts {
    T losses{}, kinked{}, terms{};

    MAXMARGIN_ALWAYS_INLINE T add(const SlopeShape& shape, T z, T C, T& curved) {
        const Slopes<T> at(shape, z, C);
        const T term = at.slope * at.slope * 0.5 / (C * shape.scale), zero = z * 0.0;
        losses += at.slope * at.distance - term;
        kinked += (at.distance > zero ? zero + shape.upper : zero + shape.lower) * C * at.distance;
        terms += term;
        curved = at.where_curved(shape, zero + 1.0);
        return at.slope;
    }
};

template <class T>
struct LineParts {
    T falling{}, bending{};

    MAXMARGIN_ALWAYS_INLINE void add(const SlopeShape& shape, T z, T u, T C, double t) {
        const Slopes<T> at(shape, z - u * t, C);
        falling += at.slope * u;
        bending += at.where_curved(shape, u * u * (C * shape.scale));
    }
};

}  // namespace

MAXMARGIN_BLOCK_CLONES SlopeSums find_slopes(const SlopeShape& given, const double* slack, const double* C,
                                             std::size_t n, double* slopes, std::uint8_t* curved) {
    const SlopeShape shape = given;
    LossParts<Lanes> wide;
    LossParts<double> narrow;
    std::size_t k = 0;
    for (; k + lanes <= n; k += lanes) {
        decltype(wide.losses) is_curved;  // aligned as a template sees it, which Lanes itself is not
        *reinterpret_cast<Lanes*>(slopes + k) = wide.add(shape, load(slack + k), load(C + k), is_curved);
        for (std::size_t lane = 0; lane < lanes; ++lane) {
            curved[k + lane] = is_curved[lane] != 0.0 ? 1 : 0;
        }
    }
    for (; k < n; ++k) {
        double is_curved;
        slopes[k] = narrow.add(shape, slack[k], C[k], is_curved);
        curved[k] = is_curved != 0.0 ? 1 : 0;
    }
    return {total(wide.losses) + narrow.losses, total(wide.kinked) + narrow.kinked, total(wide.terms) + narrow.terms};
}

MAXMARGIN_BLOCK_CLONES LineSums sum_along(const SlopeShape& given, const double* slack, const double* u,
                                          const double* C, std::size_t n, double t) {
    const SlopeShape shape = given;
    LineParts<Lanes> even, odd;
    LineParts<double> rest;
    std::size_t k = 0;
    for (; k + 2 * lanes <= n; k += 2 * lanes) {
        even.add(shape, load(slack + k), load(u + k), load(C + k), t);
        odd.add(shape, load(slack + k + lanes), load(u + k + lanes), load(C + k + lanes), t);
    }
    for (; k < n; ++k) {
        rest.add(shape, slack[k], u[k], C[k], t);
    }
    return {total(even.falling + odd.falling) + rest.falling, total(even.bending + odd.bending) + rest.bending};
}

}  // namespace maxmargin
