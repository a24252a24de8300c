#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "objects/debug_info.h"

namespace tephra::objects {

// One compile unit, flattened: views of sorted tables, in memory or in an index file. They may come from a damaged
// file: every number in them is checked where it is used, and what is out of bounds reads as unknown.
struct UnitTables {
  static constexpr uint32_t kNone = UINT32_MAX;

  // A function, or a call that was inlined into its parent. Parents come before their children.
  struct Node {
    uint32_t name = 0;  // where in `strings`
    uint32_t parent = kNone;
    uint32_t call_file = 0;  // where in `strings`
    uint32_t call_line = 0;
  };
  struct Place {
    uint32_t file = 0;  // where in `strings`; kNone: no code up to the next row
    uint32_t line = 0;
    bool operator==(const Place&) const = default;
  };

  // From segment_begins[i] to the next one the innermost function is segment_nodes[i].
  std::span<const uint64_t> segment_begins;
  std::span<const uint32_t> segment_nodes;
  std::span<const Node> nodes;
  // From line_begins[i] to the next one the code is of line_places[i].
  std::span<const uint64_t> line_begins;
  std::span<const Place> line_places;
  std::string_view strings;  // each ends with NUL; at 0 is the empty one

  // Adds what is known about an address; see DebugInfo::find.
  void find(uint64_t address, std::vector<DebugInfo::Level>& levels) const;
  std::string_view text(uint32_t at) const;
};

// The same tables with memory of their own, while they are made.
struct OwnedUnitTables {
  std::vector<uint64_t> segment_begins;
  std::vector<uint32_t> segment_nodes;
  std::vector<UnitTables::Node> nodes;
  std::vector<uint64_t> line_begins;
  std::vector<UnitTables::Place> line_places;
  std::string strings = std::string(1, '\0');

  // Valid until the tables change or are moved.
  UnitTables view() const { return {segment_begins, segment_nodes, nodes, line_begins, line_places, strings}; }
};

}  // namespace tephra::objects
