#include "objects/loaded_code.h"

#include <elf.h>

#include <algorithm>

namespace tephra::objects {
namespace {

// What linkers write for code that is not there: the last address, and the one before it in lists that the last one
// has a meaning in.
constexpr uint64_t kTombstone = UINT64_MAX - 1;
constexpr uint64_t kTombstone32 = UINT32_MAX - 1;

}  // namespace

LoadedCode::LoadedCode(const ElfFile& elf) {
  for (const ElfFile::Segment& segment : elf.segments()) {
    if (segment.type != PT_LOAD || (segment.flags & PF_X) == 0) continue;
    anywhere_ = false;
    // By the size in memory: files of debug information alone keep the segments, but not their bytes.
    const uint64_t size = std::min(segment.memory_size, UINT64_MAX - segment.address);
    parts_.push_back({segment.address, segment.address + size});
  }
  std::ranges::sort(parts_, {}, &Part::begin);
  std::vector<Part> joined;
  for (const Part& part : parts_) {
    if (!joined.empty() && part.begin <= joined.back().end) {
      joined.back().end = std::max(joined.back().end, part.end);
    } else {
      joined.push_back(part);
    }
  }
  parts_ = std::move(joined);
  if (!elf.is_64bit()) {
    for (Part& part : parts_) part.end = std::min(part.end, kTombstone32);
  }
}

bool LoadedCode::may_begin_at(uint64_t address) const {
  if (anywhere_) return address < kTombstone && address != kTombstone32 && address != kTombstone32 + 1;
  // A segment that is loaded at 0 has the header of the file there.
  if (address == 0) return false;
  const auto after = std::ranges::upper_bound(parts_, address, {}, &Part::begin);
  return after != parts_.begin() && address < (after - 1)->end;
}

}  // namespace tephra::objects
