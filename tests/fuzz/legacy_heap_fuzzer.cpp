#include <cstdint>
#include <span>

#include "formats/heap_dump.h"
#include "formats/jemalloc_heap.h"

// Heap dumps of tcmalloc, Go and jemalloc: what is taken is read or refused, with sums that do not overflow.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tephra;
  const auto bytes = std::as_bytes(std::span(data, size));
  for (const formats::Format* format : {&formats::kHeapDump, &formats::kJemallocHeap}) {
    const bool taken = format->refusal(bytes).empty();
    const auto profile = format->read(bytes);
    if (!profile.ok()) continue;
    if (!taken) __builtin_trap();
    for (const uint64_t value : profile->samples.value) {
      if (value > INT64_MAX) __builtin_trap();
    }
  }
  return 0;
}
