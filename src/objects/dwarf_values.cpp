#include "objects/dwarf_values.h"

#include <dwarf.h>

#include <algorithm>

#include "objects/leb128.h"

namespace tephra::objects {
namespace {

using base::ByteReader;
using base::Bytes;

// A hostile list could go on for the size of its section; no real one is near this.
constexpr int kMostRanges = 1 << 16;
constexpr size_t kLongestText = 4096;

Bytes from(Bytes section, uint64_t offset) { return offset < section.size() ? section.subspan(offset) : Bytes(); }

uint64_t read_sized(ByteReader& reader, unsigned size) {
  switch (size) {
    case 1:
      return reader.u8();
    case 2:
      return reader.u16();
    case 3: {
      const uint64_t low = reader.u16();
      return low | uint64_t{reader.u8()} << 16;
    }
    case 4:
      return reader.u32();
    default:
      return reader.u64();
  }
}

// The entry `index` of a table of `size`-byte numbers.
std::optional<uint64_t> number_at(Bytes section, uint64_t base, uint64_t index, unsigned size) {
  if (index > section.size()) return std::nullopt;
  ByteReader reader(from(section, base + index * size));
  const uint64_t number = read_sized(reader, size);
  if (!reader.ok()) return std::nullopt;
  return number;
}

// The text of a name or path; what is longer than any path is none.
std::string_view text_at(Bytes section, uint64_t offset) {
  const Bytes rest = from(section, offset);
  const std::string_view text = base::until_nul(rest.first(std::min(rest.size(), kLongestText + 1)));
  return text.size() > kLongestText ? std::string_view() : text;
}

}  // namespace

std::optional<DwarfUnitHeader> DwarfUnitHeader::read(Bytes info, uint64_t offset) {
  const Bytes rest = from(info, offset);
  ByteReader reader(rest);
  DwarfUnitHeader unit;
  unit.offset = offset;
  uint64_t length = reader.u32();
  if (length == 0xffffffff) {
    unit.offset_size = 8;
    length = reader.u64();
  }
  if (!reader.ok() || length > reader.remaining()) return std::nullopt;
  unit.size = reader.position() + length;
  unit.version = reader.u16();
  unit.type = DW_UT_compile;
  if (unit.version >= 5) {
    unit.type = reader.u8();
    unit.address_size = reader.u8();
    unit.abbrev_offset = read_sized(reader, unit.offset_size);
    if (unit.type == DW_UT_skeleton || unit.type == DW_UT_split_compile) unit.id = reader.u64();
    if (unit.type == DW_UT_type || unit.type == DW_UT_split_type) reader.skip(8 + unit.offset_size);
  } else {
    unit.abbrev_offset = read_sized(reader, unit.offset_size);
    unit.address_size = reader.u8();
  }
  unit.root = reader.position();
  const bool known = unit.version >= 2 && unit.version <= 5 && (unit.address_size == 4 || unit.address_size == 8);
  if (!reader.ok() || !known || unit.root > unit.size) return std::nullopt;
  return unit;
}

DwarfValue read_dwarf_value(ByteReader& reader, uint32_t form, int64_t constant, const DwarfUnitHeader& unit) {
  const auto value = [&](DwarfClass kind, uint64_t number) { return DwarfValue{kind, form, number, {}}; };
  const auto skip = [&](uint64_t size) {
    reader.skip(size);
    return DwarfValue{DwarfClass::kNone, form, 0, {}};
  };
  switch (form) {
    case DW_FORM_addr:
      return value(DwarfClass::kAddress, read_sized(reader, unit.address_size));
    case DW_FORM_addrx:
    case DW_FORM_GNU_addr_index:
      return value(DwarfClass::kAddress, read_uleb(reader));
    case DW_FORM_addrx1:
    case DW_FORM_addrx2:
    case DW_FORM_addrx3:
    case DW_FORM_addrx4:
      return value(DwarfClass::kAddress, read_sized(reader, form - DW_FORM_addrx1 + 1));
    case DW_FORM_data1:
      return value(DwarfClass::kConstant, reader.u8());
    case DW_FORM_data2:
      return value(DwarfClass::kConstant, reader.u16());
    case DW_FORM_data4:
      return value(DwarfClass::kConstant, reader.u32());
    case DW_FORM_data8:
      return value(DwarfClass::kConstant, reader.u64());
    case DW_FORM_udata:
      return value(DwarfClass::kConstant, read_uleb(reader));
    case DW_FORM_sdata:
      return value(DwarfClass::kConstant, static_cast<uint64_t>(read_sleb(reader)));
    case DW_FORM_implicit_const:
      return value(DwarfClass::kConstant, static_cast<uint64_t>(constant));
    case DW_FORM_flag:
      return value(DwarfClass::kFlag, reader.u8());
    case DW_FORM_flag_present:
      return value(DwarfClass::kFlag, 1);
    case DW_FORM_string: {
      DwarfValue text = value(DwarfClass::kString, 0);
      text.text = reader.c_string();
      return text;
    }
    case DW_FORM_strp:
    case DW_FORM_line_strp:
      return value(DwarfClass::kString, read_sized(reader, unit.offset_size));
    case DW_FORM_strx:
    case DW_FORM_GNU_str_index:
      return value(DwarfClass::kString, read_uleb(reader));
    case DW_FORM_strx1:
    case DW_FORM_strx2:
    case DW_FORM_strx3:
    case DW_FORM_strx4:
      return value(DwarfClass::kString, read_sized(reader, form - DW_FORM_strx1 + 1));
    case DW_FORM_ref1:
      return value(DwarfClass::kReference, reader.u8());
    case DW_FORM_ref2:
      return value(DwarfClass::kReference, reader.u16());
    case DW_FORM_ref4:
      return value(DwarfClass::kReference, reader.u32());
    case DW_FORM_ref8:
      return value(DwarfClass::kReference, reader.u64());
    case DW_FORM_ref_udata:
      return value(DwarfClass::kReference, read_uleb(reader));
    case DW_FORM_ref_addr:
      return value(DwarfClass::kSectionReference,
                   read_sized(reader, unit.version == 2 ? unit.address_size : unit.offset_size));
    case DW_FORM_sec_offset:
      return value(DwarfClass::kRanges, read_sized(reader, unit.offset_size));
    case DW_FORM_rnglistx:
      return value(DwarfClass::kRanges, read_uleb(reader));
    case DW_FORM_loclistx:
      read_uleb(reader);
      return {};
    case DW_FORM_block1:
      return skip(reader.u8());
    case DW_FORM_block2:
      return skip(reader.u16());
    case DW_FORM_block4:
      return skip(reader.u32());
    case DW_FORM_block:
    case DW_FORM_exprloc:
      return skip(read_uleb(reader));
    case DW_FORM_data16:
      return skip(16);
    case DW_FORM_ref_sig8:
    case DW_FORM_ref_sup8:
      return skip(8);
    case DW_FORM_ref_sup4:
      return skip(4);
    case DW_FORM_strp_sup:
    case DW_FORM_GNU_ref_alt:
    case DW_FORM_GNU_strp_alt:
      return skip(unit.offset_size);
    default:
      // Among them DW_FORM_indirect, which no compiler writes.
      reader.fail();
      return {};
  }
}

std::optional<uint64_t> DwarfUnitValues::address_at(uint64_t index) const {
  return number_at(sections_.addr, bases_.addr, index, unit_.address_size);
}

std::optional<uint64_t> DwarfUnitValues::address(const DwarfValue& value) const {
  if (value.kind != DwarfClass::kAddress) return std::nullopt;
  if (value.form == DW_FORM_addr) return value.number;
  return address_at(value.number);
}

std::optional<uint64_t> DwarfUnitValues::string_offset(const DwarfValue& value) const {
  if (value.form == DW_FORM_strp) return value.number;
  return number_at(sections_.str_offsets, bases_.str_offsets, value.number, unit_.offset_size);
}

std::string_view DwarfUnitValues::string(const DwarfValue& value) const {
  if (value.kind != DwarfClass::kString) return {};
  if (value.form == DW_FORM_string) return value.text;
  if (value.form == DW_FORM_line_strp) return text_at(sections_.line_str, value.number);
  const auto offset = string_offset(value);
  return offset ? text_at(sections_.str, *offset) : std::string_view();
}

uint64_t DwarfUnitValues::ranges(const DwarfValue& value, Ranges& out) const {
  if (unit_.version < 5) return old_ranges(bases_.ranges + value.number, out);
  if (value.form != DW_FORM_rnglistx) return new_ranges(value.number, out);
  const auto offset = list_offset(value.number);
  return offset ? new_ranges(*offset, out) : 0;
}

// The offsets of the lists stand behind the header, and count from there.
std::optional<uint64_t> DwarfUnitValues::list_offset(uint64_t index) const {
  const auto offset = number_at(sections_.rnglists, bases_.rnglists, index, unit_.offset_size);
  if (!offset) return std::nullopt;
  return bases_.rnglists + *offset;
}

uint64_t DwarfUnitValues::old_ranges(uint64_t offset, Ranges& out) const {
  ByteReader reader(from(sections_.ranges, offset));
  const uint64_t all_ones = unit_.address_size == 8 ? UINT64_MAX : UINT32_MAX;
  uint64_t base = bases_.low_pc;
  for (int i = 0; i < kMostRanges; ++i) {
    const uint64_t begin = read_sized(reader, unit_.address_size);
    const uint64_t end = read_sized(reader, unit_.address_size);
    if (!reader.ok() || (begin == 0 && end == 0)) break;
    if (begin == all_ones) {
      base = end;
    } else if (begin < end) {
      out.emplace_back(base + begin, base + end);
    }
  }
  return reader.position();
}

uint64_t DwarfUnitValues::new_ranges(uint64_t offset, Ranges& out) const {
  ByteReader reader(from(sections_.rnglists, offset));
  uint64_t base = bases_.low_pc;
  for (int i = 0; i < kMostRanges && reader.ok(); ++i) {
    uint64_t begin = 0;
    uint64_t end = 0;
    switch (reader.u8()) {
      case DW_RLE_base_addressx:
        base = address_at(read_uleb(reader)).value_or(0);
        continue;
      case DW_RLE_base_address:
        base = read_sized(reader, unit_.address_size);
        continue;
      case DW_RLE_startx_endx:
        begin = address_at(read_uleb(reader)).value_or(0);
        end = address_at(read_uleb(reader)).value_or(0);
        break;
      case DW_RLE_startx_length:
        begin = address_at(read_uleb(reader)).value_or(0);
        end = begin + read_uleb(reader);
        break;
      case DW_RLE_offset_pair:
        begin = base + read_uleb(reader);
        end = base + read_uleb(reader);
        break;
      case DW_RLE_start_end:
        begin = read_sized(reader, unit_.address_size);
        end = read_sized(reader, unit_.address_size);
        break;
      case DW_RLE_start_length:
        begin = read_sized(reader, unit_.address_size);
        end = begin + read_uleb(reader);
        break;
      default:  // the end of the list, or not a list
        return reader.position();
    }
    if (reader.ok() && begin < end) out.emplace_back(begin, end);
  }
  return reader.position();
}

}  // namespace tephra::objects
