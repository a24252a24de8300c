#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "objects/dwarf_abbreviations.h"
#include "objects/dwarf_values.h"

namespace tephra::objects {

// What a skeleton unit, which is linked into a program, tells about its split unit.
struct SkeletonUnit {
  DwarfUnitHeader header;
  uint64_t id = 0;
  std::string_view name;
  std::string_view folder;
  std::optional<uint64_t> line_table;
  DwarfBases bases;  // str_offsets of the skeleton itself
  DwarfUnitValues::Ranges ranges;
  uint64_t range_bytes = 0;  // of lists that were read for them

  // Nothing when the unit is not a skeleton.
  static std::optional<SkeletonUnit> read(const DwarfUnitHeader& header, const DwarfSections& sections,
                                          DwarfAbbreviationCache& abbreviations);
};

// A split unit, written anew as an ordinary one of DWARF 5, with what names, lines and inlined calls need of it.
struct JoinedUnit {
  std::string info;
  std::string abbrev;    // the offset of which is to be written at kAbbrevOffsetAt of info
  std::string rnglists;  // whose offset is to be added at each of these places of info
  std::vector<uint32_t> rnglists_at;

  static constexpr size_t kAbbrevOffsetAt = 8;

  // `sections` are those of the split unit, with the address tables of the program; `string_base` is where .debug_str
  // of the split unit will be. Nothing when the unit cannot be read.
  static std::optional<JoinedUnit> make(const SkeletonUnit& skeleton, const DwarfUnitHeader& split,
                                        const DwarfSections& sections, const DwarfAbbreviations& abbreviations,
                                        uint64_t string_base);
};

// The id of a split unit: from its header, or before DWARF 5 from its root entry. Nothing when it is none.
std::optional<uint64_t> split_unit_id(const DwarfUnitHeader& header, const DwarfSections& sections,
                                      DwarfAbbreviationCache& abbreviations);

}  // namespace tephra::objects
