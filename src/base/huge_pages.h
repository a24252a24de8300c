#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

namespace tephra::base {

// Asks for huge pages below memory that was not touched yet, for large tables that are read here and there: most of
// what a look into them costs is finding the page. Advice only; content and errors are as without it.
inline void prefer_huge_pages(void* begin, size_t size) {
  constexpr uintptr_t kPage = 4096;
  constexpr size_t kWorthwhile = 8 << 20;
  if (size < kWorthwhile) return;
  const uintptr_t first = (reinterpret_cast<uintptr_t>(begin) + kPage - 1) & ~(kPage - 1);
  const uintptr_t last = (reinterpret_cast<uintptr_t>(begin) + size) & ~(kPage - 1);
  ::madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
}

}  // namespace tephra::base
