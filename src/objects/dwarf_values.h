#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"

namespace tephra::objects {

// The sections that units refer to. Those of a split unit are partly of its own file, partly of the program's.
struct DwarfSections {
  base::Bytes info;
  base::Bytes abbrev;
  base::Bytes str;
  base::Bytes line_str;
  base::Bytes str_offsets;
  base::Bytes addr;
  base::Bytes rnglists;
  base::Bytes ranges;
};

// The header of a unit of .debug_info.
struct DwarfUnitHeader {
  uint64_t offset = 0;  // of the unit in its section
  uint64_t size = 0;    // with the header
  uint16_t version = 0;
  uint8_t type = 0;          // DW_UT_…; compile where the version has no types
  uint8_t address_size = 0;  // 4 or 8
  uint8_t offset_size = 4;   // 4 or 8: 32-bit or 64-bit DWARF
  uint64_t abbrev_offset = 0;
  uint64_t id = 0;    // of skeleton and split units, from version 5 on
  uint64_t root = 0;  // the root entry, from the unit's beginning

  // Nothing when there is no whole unit of a known version.
  static std::optional<DwarfUnitHeader> read(base::Bytes info, uint64_t offset);
};

// How the value of an attribute is to be understood.
enum class DwarfClass { kNone, kAddress, kConstant, kFlag, kString, kReference, kSectionReference, kRanges };

// The value of one attribute as it stands in the unit.
struct DwarfValue {
  DwarfClass kind = DwarfClass::kNone;
  uint32_t form = 0;
  uint64_t number = 0;    // or an index, or an offset
  std::string_view text;  // of DW_FORM_string
};

// Reads one value and moves behind it; the reader fails at the end of its bytes and at a form that is not known.
DwarfValue read_dwarf_value(base::ByteReader& reader, uint32_t form, int64_t constant, const DwarfUnitHeader& unit);

// Where the tables that a unit's values index begin.
struct DwarfBases {
  uint64_t str_offsets = 0;
  uint64_t addr = 0;
  uint64_t rnglists = 0;
  uint64_t ranges = 0;  // what offsets into .debug_ranges count from
  uint64_t low_pc = 0;  // what lists of ranges begin with
};

// Gives the values of one unit's attributes their meaning.
class DwarfUnitValues {
 public:
  using Ranges = std::vector<std::pair<uint64_t, uint64_t>>;

  DwarfUnitValues(const DwarfUnitHeader& unit, const DwarfSections& sections, const DwarfBases& bases)
      : unit_(unit), sections_(sections), bases_(bases) {}

  std::optional<uint64_t> address(const DwarfValue& value) const;
  // Where the text is in .debug_str.
  std::optional<uint64_t> string_offset(const DwarfValue& value) const;
  // The text; empty when there is none.
  std::string_view string(const DwarfValue& value) const;
  // Appends the ranges of a list. How many bytes of lists were read for it.
  uint64_t ranges(const DwarfValue& value, Ranges& ranges) const;

 private:
  std::optional<uint64_t> address_at(uint64_t index) const;
  uint64_t old_ranges(uint64_t offset, Ranges& ranges) const;
  uint64_t new_ranges(uint64_t offset, Ranges& ranges) const;
  std::optional<uint64_t> list_offset(uint64_t index) const;

  const DwarfUnitHeader& unit_;
  const DwarfSections& sections_;
  DwarfBases bases_;
};

}  // namespace tephra::objects
