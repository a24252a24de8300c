#include <cstdlib>

#include "base/bytes.h"
#include "objects/perf_map.h"

// Entries are inside the text and never empty.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  tephra::objects::PerfMapReader reader(text);
  tephra::objects::PerfMapEntry entry;
  while (reader.next(entry)) {
    if (entry.name.empty() || entry.size == 0 || entry.start + entry.size <= entry.start) std::abort();
    if (entry.name.data() < text.data() || entry.name.data() + entry.name.size() > text.data() + size) std::abort();
  }
  return 0;
}
