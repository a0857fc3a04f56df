// What is not in the C++ standard: attributes and built-in functions of GCC and Clang, and what other compilers get.
// The kernels need vector types, which GCC, Clang and Clang on Windows (clang-cl) know.
#pragma once

#include <cstdint>
#include <cstdlib>  // defines __GLIBC__ where that is the C library

#if defined(__GNUC__) || defined(__clang__)
// Functions that are compiled for several instruction sets must swallow what they call; lambdas have it after their
// arguments.
#define MAXMARGIN_ALWAYS_INLINE __attribute__((always_inline))
#define MAXMARGIN_PREFETCH(address) __builtin_prefetch(address)
#define MAXMARGIN_PREFETCH_TO_WRITE(address) __builtin_prefetch(address, 1)
#else
#define MAXMARGIN_ALWAYS_INLINE
#define MAXMARGIN_PREFETCH(address) static_cast<void>(address)
#define MAXMARGIN_PREFETCH_TO_WRITE(address) static_cast<void>(address)
#endif
// After the name of an alias for a type of numbers: it may be read where another type was written.
#define MAXMARGIN_MAY_ALIAS __attribute__((may_alias))
// After the name of an alias for a type of numbers: a vector of so many bytes, which may lie at any multiple of an
// alignment. (After the type itself Clang ignores the alignment.)
#define MAXMARGIN_VECTOR(bytes, alignment) __attribute__((vector_size(bytes), aligned(alignment), may_alias))
#define MAXMARGIN_CONVERT(vector, Type) __builtin_convertvector(vector, Type)
#define MAXMARGIN_INLINE inline MAXMARGIN_ALWAYS_INLINE

// A loop of a constant count of at most sixteen, whose sums are to stay in registers.
#define MAXMARGIN_UNROLL _Pragma("GCC unroll 16")

// In a loop that waits for another thread.
#if defined(__x86_64__) || defined(__i386__)
#define MAXMARGIN_PAUSE() __builtin_ia32_pause()
#else
#define MAXMARGIN_PAUSE() static_cast<void>(0)
#endif

// Functions compiled for several instruction sets, of which the loader picks one at run time. Sanitizers, C libraries
// without ifunc support and other compilers build the plain version only: Clang 14 knows the attribute, but makes the
// first version alone of a function that a header has declared, and crashes where the processor lacks its instructions.
#if defined(__x86_64__) && defined(__linux__) && defined(__GLIBC__) && !defined(MAXMARGIN_SANITIZE) && \
    !defined(__clang__)
#define MAXMARGIN_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
// For loops over blocks of four doubles, to which wider registers are of no use.
#define MAXMARGIN_BLOCK_CLONES __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define MAXMARGIN_CLONES
#define MAXMARGIN_BLOCK_CLONES
#endif

namespace maxmargin {

#if defined(__SIZEOF_INT128__)
__extension__ using Wide = unsigned __int128;
#endif

inline std::uint64_t swapped_bytes(std::uint64_t word) {
#if defined(__GNUC__) || defined(__clang__)
    return __builtin_bswap64(word);
#else
    std::uint64_t swapped = 0;
    for (int byte = 0; byte < 8; ++byte) {
        swapped = (swapped << 8) | ((word >> (8 * byte)) & 0xff);
    }
    return swapped;
#endif
}

}  // namespace maxmargin
