#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/bytes.h"

namespace tephra::objects {

// The index of a package of split units (.dwp): which part of each section is of which unit. Of version 2, which GNU
// tools write for DWARF 4, and of version 5.
class SplitPackage {
 public:
  enum Section { kInfo, kAbbrev, kStrOffsets, kRnglists, kSectionCount };
  struct Part {
    uint64_t offset = 0;
    uint64_t size = 0;
  };
  using Parts = std::array<Part, kSectionCount>;

  // Nothing when `index` (.debug_cu_index) is damaged.
  static std::optional<SplitPackage> parse(base::Bytes index);

  // Null when the package does not hold the unit.
  const Parts* find(uint64_t id) const;

 private:
  std::vector<Parts> rows_;
  std::unordered_map<uint64_t, uint32_t> by_id_;
};

}  // namespace tephra::objects
