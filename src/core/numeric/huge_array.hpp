// An array of plain values that is not initialised, for large data that are read in any order: on Linux in huge pages,
// which take a fraction of the time to get and spare most misses of the processor's table of pages.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace maxmargin {

struct FreeMemory {
    void operator()(void* memory) const { std::free(memory); }
};

template <class T>
using HugeArray = std::unique_ptr<T[], FreeMemory>;

template <class T>
HugeArray<T> make_huge_array(std::size_t count) {
    constexpr std::size_t page = std::size_t{1} << 21;
    const std::size_t bytes = count * sizeof(T);
    const std::size_t alignment = bytes < page ? 64 : page;
    void* memory = std::aligned_alloc(alignment, (bytes / alignment + 1) * alignment);
    if (!memory) {
        throw std::bad_alloc();
    }
#ifdef __linux__
    if (alignment == page) {
        madvise(memory, bytes, MADV_HUGEPAGE);  // a wish: that it may fail does no harm
    }
#endif
    return HugeArray<T>(static_cast<T*>(memory));
}

// The same memory for vectors, which then begin at a cache line at the least.
template <class T>
struct HugeAllocator {
    using value_type = T;

    HugeAllocator() = default;
    template <class Other>
    HugeAllocator(const HugeAllocator<Other>&) {}

    T* allocate(std::size_t count) { return make_huge_array<T>(count).release(); }
    void deallocate(T* memory, std::size_t) { std::free(memory); }
    bool operator==(const HugeAllocator&) const { return true; }
};

template <class T>
using HugeVector = std::vector<T, HugeAllocator<T>>;

}  // namespace maxmargin
