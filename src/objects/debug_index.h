#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "base/bytes.h"
#include "objects/unit_tables.h"

namespace tephra::objects {

// What was read of a file's debug information, as bytes to be stored and mapped again: where the code of every unit is,
// and the tables of those units that were asked for so far.
//
// The bytes may be of any origin. Tables are found by checked offsets, and what is in them is checked where it is used,
// so that opening takes no longer for a large index. An index that is not whole has no units.
class DebugIndex {
 public:
  // Of the layout below; one more whenever it, or what the tables mean, changes.
  static constexpr uint32_t kVersion = 2;

  // Code of a unit; sorted by `begin`.
  struct Range {
    uint64_t begin = 0;
    uint64_t end = 0;
    uint64_t unit = 0;  // the offset of its root entry
  };

  DebugIndex() = default;
  // `stored` must outlive it, and begin at a multiple of eight.
  explicit DebugIndex(base::Bytes stored);

  bool empty() const { return ranges_.empty(); }
  std::span<const Range> ranges() const { return ranges_; }
  // The tables of a unit, where they are in the index.
  std::optional<UnitTables> unit(uint64_t root) const;

  // The bytes of an index.
  static std::string store(std::span<const Range> ranges, const std::map<uint64_t, UnitTables>& units);
  // Calls visit(root, tables) for every unit that is whole in the index.
  template <class Visit>
  void for_each_unit(Visit visit) const {
    for (const Unit& row : units_) {
      if (const auto tables = tables_of(row)) visit(row.root, *tables);
    }
  }

 private:
  struct Header {
    uint64_t range_count = 0;
    uint64_t unit_count = 0;
  };
  // Where the tables of a unit begin, and their sizes; they follow each other, the widest first.
  struct Unit {
    uint64_t root = 0;
    uint64_t offset = 0;
    uint64_t segment_count = 0;
    uint64_t line_count = 0;
    uint64_t node_count = 0;
    uint64_t string_bytes = 0;
  };

  static Unit measure(const UnitTables& tables);
  std::optional<UnitTables> tables_of(const Unit& row) const;

  base::Bytes stored_;
  std::span<const Range> ranges_;
  std::span<const Unit> units_;  // sorted by root
};

}  // namespace tephra::objects
