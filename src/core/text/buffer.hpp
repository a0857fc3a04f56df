// Memory that nobody clears before it is written, in large pages where the system has them: fewer faults while it is
// filled, and fewer misses when a solver jumps about in it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <memory>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace maxmargin {

template <class T>
struct Buffer {
    struct Free {
        void operator()(T* p) const { std::free(p); }
    };
    std::unique_ptr<T[], Free> data;
    std::size_t size = 0;

    void allocate(std::size_t capacity) {
        constexpr std::size_t page = std::size_t{1} << 21;
        if (capacity > (std::numeric_limits<std::size_t>::max() / 2) / sizeof(T)) {
            throw std::bad_alloc();
        }
        const std::size_t bytes = std::max(capacity, std::size_t{1}) * sizeof(T);
        const bool large = bytes >= 2 * page;
        void* memory = large ? std::aligned_alloc(page, (bytes + page - 1) / page * page) : std::malloc(bytes);
        if (memory == nullptr) {
            throw std::bad_alloc();
        }
#ifdef MADV_HUGEPAGE
        if (large) {
            madvise(memory, bytes, MADV_HUGEPAGE);  // a wish: without it everything works all the same
        }
#endif
        data.reset(static_cast<T*>(memory));
    }
};

}  // namespace maxmargin
