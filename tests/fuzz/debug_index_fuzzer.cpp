#include <cstdlib>
#include <cstring>
#include <vector>

#include "objects/debug_index.h"

// Any bytes as an entry of the cache.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tephra;
  std::vector<uint64_t> aligned((size + 7) / 8);
  if (size > 0) std::memcpy(aligned.data(), data, size);
  const base::Bytes stored(reinterpret_cast<const std::byte*>(aligned.data()), size);
  const auto info = objects::DebugInfo::open({}, stored);
  if (!info) return 0;
  std::vector<objects::DebugInfo::Level> levels;
  const objects::DebugIndex index(stored);
  for (size_t i = 0; i < index.ranges().size() && i < 64; ++i) info->find(index.ranges()[i].begin, levels);
  index.for_each_unit([&](uint64_t, const objects::UnitTables& tables) {
    for (size_t i = 0; i < tables.segment_begins.size() && i < 64; ++i) tables.find(tables.segment_begins[i], levels);
    for (size_t i = 0; i < tables.line_begins.size() && i < 64; ++i) tables.find(tables.line_begins[i], levels);
    levels.clear();
  });
  if (!info->updated_index().empty()) std::abort();  // nothing can have been read
  return 0;
}
