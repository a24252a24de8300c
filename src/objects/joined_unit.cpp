#include "objects/joined_unit.h"

#include <dwarf.h>

#include <algorithm>

#include "objects/dwarf_abbreviations.h"
#include "objects/leb128.h"

namespace tephra::objects {
namespace {

using base::ByteReader;
using base::Bytes;

// Deeper than any compiler nests.
constexpr size_t kDeepest = 1024;
// Lists of ranges, for each byte of the unit that refers to them: entries of a hostile one could all have the same long
// list.
constexpr size_t kMostRangeBytes = 64;

// Calls visit(name, value) for each attribute of the root entry; false when there is no root that can be read.
template <class Visit>
bool for_each_root_attribute(const DwarfUnitHeader& unit, const DwarfSections& sections, DwarfAbbreviationCache& tables,
                             Visit visit) {
  const auto* abbreviations = tables.find(sections.abbrev, unit.abbrev_offset);
  if (abbreviations == nullptr) return false;
  ByteReader reader(sections.info.subspan(unit.offset + unit.root, unit.size - unit.root));
  const auto* entry = abbreviations->find(read_uleb(reader));
  if (entry == nullptr) return false;
  for (const auto& attribute : abbreviations->attributes(*entry)) {
    const DwarfValue value = read_dwarf_value(reader, attribute.form, attribute.constant, unit);
    if (!reader.ok()) return false;
    visit(attribute.name, value);
  }
  return true;
}

bool is_wanted(uint32_t attribute) {
  switch (attribute) {
    case DW_AT_sibling:
    case DW_AT_name:
    case DW_AT_linkage_name:
    case DW_AT_MIPS_linkage_name:
    case DW_AT_low_pc:
    case DW_AT_high_pc:
    case DW_AT_ranges:
    case DW_AT_abstract_origin:
    case DW_AT_specification:
    case DW_AT_call_file:
    case DW_AT_call_line:
    case DW_AT_artificial:
    case DW_AT_declaration:
    case DW_AT_language:
    case DW_AT_type:
    case DW_AT_upper_bound:
    case DW_AT_count:
    case DW_AT_export_symbols:
      return true;
    default:
      return false;
  }
}

// Entries that say nothing about names, lines or inlined calls; what they hold says nothing either.
bool is_left_out(uint32_t tag) {
  switch (tag) {
    case DW_TAG_variable:
    case DW_TAG_member:
    case DW_TAG_enumerator:
    case DW_TAG_label:
    case DW_TAG_call_site:
    case DW_TAG_GNU_call_site:
    case DW_TAG_call_site_parameter:
    case DW_TAG_GNU_call_site_parameter:
    case DW_TAG_imported_declaration:
    case DW_TAG_imported_module:
    case DW_TAG_inheritance:
      return true;
    default:
      return false;
  }
}

// The form of an attribute in the new unit; 0 for one that is left out.
uint32_t written_form(const DwarfAbbreviations::Attribute& attribute) {
  if (!is_wanted(attribute.name)) return 0;
  switch (attribute.form) {
    case DW_FORM_addr:
    case DW_FORM_addrx:
    case DW_FORM_addrx1:
    case DW_FORM_addrx2:
    case DW_FORM_addrx3:
    case DW_FORM_addrx4:
    case DW_FORM_GNU_addr_index:
      return DW_FORM_addr;
    case DW_FORM_strp:
    case DW_FORM_strx:
    case DW_FORM_strx1:
    case DW_FORM_strx2:
    case DW_FORM_strx3:
    case DW_FORM_strx4:
    case DW_FORM_GNU_str_index:
      return DW_FORM_strp;
    case DW_FORM_ref1:
    case DW_FORM_ref2:
    case DW_FORM_ref4:
    case DW_FORM_ref8:
    case DW_FORM_ref_udata:
    case DW_FORM_ref_addr:
      return DW_FORM_ref4;
    case DW_FORM_data1:
    case DW_FORM_data2:
    case DW_FORM_data4:
    case DW_FORM_data8:
    case DW_FORM_udata:
    case DW_FORM_sdata:
    case DW_FORM_implicit_const:
      // Of old, ranges were data, too.
      return attribute.name == DW_AT_ranges ? 0 : attribute.form;
    case DW_FORM_string:
    case DW_FORM_flag:
    case DW_FORM_flag_present:
      return attribute.form;
    case DW_FORM_sec_offset:
    case DW_FORM_rnglistx:
      return attribute.name == DW_AT_ranges ? DW_FORM_sec_offset : 0;
    default:
      return 0;
  }
}

template <class T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void put_uleb(std::string& out, uint64_t value) {
  do {
    const auto low = static_cast<uint8_t>(value & 0x7f);
    value >>= 7;
    out.push_back(static_cast<char>(value != 0 ? low | 0x80 : low));
  } while (value != 0);
}

void put_sleb(std::string& out, int64_t value) {
  for (;;) {
    const auto low = static_cast<uint8_t>(value & 0x7f);
    value >>= 7;
    const bool last = (value == 0 && (low & 0x40) == 0) || (value == -1 && (low & 0x40) != 0);
    out.push_back(static_cast<char>(last ? low : low | 0x80));
    if (last) return;
  }
}

template <class T>
void put_at(std::string& out, size_t at, T value) {
  out.replace(at, sizeof value, reinterpret_cast<const char*>(&value), sizeof value);
}

// Writes one unit. References are known only when all entries are written.
class UnitWriter {
 public:
  UnitWriter(const SkeletonUnit& skeleton, const DwarfUnitHeader& split, const DwarfSections& sections,
             const DwarfAbbreviations& abbreviations, uint64_t string_base)
      : skeleton_(skeleton),
        split_(split),
        abbreviations_(abbreviations),
        string_base_(string_base),
        values_(split, sections, split_bases(skeleton, split, sections)),
        unit_(sections.info.subspan(split.offset, split.size)) {}

  std::optional<JoinedUnit> write() && {
    write_abbreviations();
    write_header();
    if (!write_entries() || out_.info.size() > UINT32_MAX) return std::nullopt;
    for (const auto& [at, target] : references_) put_at<uint32_t>(out_.info, at, moved(target));
    for (const auto& [at, target] : siblings_) put_at<uint32_t>(out_.info, at, moved_or_next(target));
    put_at<uint32_t>(out_.info, 0, static_cast<uint32_t>(out_.info.size() - 4));
    return std::move(out_);
  }

 private:
  // The tables of the split unit's own file have one part for the unit, or are cut to it, behind a header.
  static DwarfBases split_bases(const SkeletonUnit& skeleton, const DwarfUnitHeader& split,
                                const DwarfSections& sections) {
    DwarfBases bases = skeleton.bases;
    bases.str_offsets = split.version >= 5 ? 8 : 0;
    bases.rnglists = sections.rnglists.empty() ? 0 : 12;
    return bases;
  }

  // Entries keep their codes; the root gets one of its own, since it gets attributes that only the skeleton has.
  void write_abbreviations() {
    uint64_t largest = 0;
    for (const auto& entry : abbreviations_.entries()) {
      largest = std::max(largest, entry.code);
      write_abbreviation(entry.code, entry);
      put_uleb(out_.abbrev, 0);
      put_uleb(out_.abbrev, 0);
    }
    root_code_ = largest + 1;
    ByteReader reader(unit_.subspan(split_.root));
    if (const auto* root = abbreviations_.find(read_uleb(reader))) {
      write_abbreviation(root_code_, *root);
      const auto add = [&](uint32_t name, uint32_t form) {
        put_uleb(out_.abbrev, name);
        put_uleb(out_.abbrev, form);
      };
      if (skeleton_.line_table) add(DW_AT_stmt_list, DW_FORM_sec_offset);
      add(DW_AT_comp_dir, DW_FORM_string);
      add(DW_AT_low_pc, DW_FORM_addr);
      add(DW_AT_ranges, DW_FORM_sec_offset);
      put_uleb(out_.abbrev, 0);
      put_uleb(out_.abbrev, 0);
    }
    put_uleb(out_.abbrev, 0);
  }

  // Without the two zeros at its end.
  void write_abbreviation(uint64_t code, const DwarfAbbreviations::Entry& entry) {
    put_uleb(out_.abbrev, code);
    put_uleb(out_.abbrev, entry.tag);
    out_.abbrev.push_back(entry.has_children ? 1 : 0);
    const bool is_root = code == root_code_;
    for (const auto& attribute : abbreviations_.attributes(entry)) {
      const uint32_t form = written_form(attribute);
      if (form == 0 || (is_root && is_of_skeleton(attribute.name))) continue;
      put_uleb(out_.abbrev, attribute.name);
      put_uleb(out_.abbrev, form);
      if (form == DW_FORM_implicit_const) put_sleb(out_.abbrev, attribute.constant);
    }
  }

  static bool is_of_skeleton(uint32_t attribute) {
    return attribute == DW_AT_low_pc || attribute == DW_AT_high_pc || attribute == DW_AT_ranges;
  }

  void write_header() {
    put<uint32_t>(out_.info, 0);
    put<uint16_t>(out_.info, 5);
    put<uint8_t>(out_.info, DW_UT_compile);
    put<uint8_t>(out_.info, split_.address_size);
    put<uint32_t>(out_.info, 0);
  }

  bool write_entries() {
    ByteReader reader(unit_);
    reader.skip(split_.root);
    size_t depth = 0;
    size_t left_out_at = SIZE_MAX;  // the depth of the entry that is left out with all it holds
    bool is_root = true;
    do {
      const auto offset = static_cast<uint32_t>(reader.position());
      const uint64_t code = read_uleb(reader);
      if (!reader.ok()) return false;
      if (code == 0) {
        if (depth == 0) break;
        --depth;
        if (left_out_at == SIZE_MAX) {
          places_.emplace_back(offset, static_cast<uint32_t>(out_.info.size()));
          put_uleb(out_.info, 0);
        }
        if (left_out_at == depth) left_out_at = SIZE_MAX;
        continue;
      }
      const auto* entry = abbreviations_.find(code);
      if (entry == nullptr || depth > kDeepest) return false;
      const bool left_out = left_out_at != SIZE_MAX || is_left_out(entry->tag);
      if (!left_out) {
        places_.emplace_back(offset, static_cast<uint32_t>(out_.info.size()));
        put_uleb(out_.info, is_root ? root_code_ : code);
      } else if (left_out_at == SIZE_MAX && entry->has_children) {
        left_out_at = depth;
      }
      if (!copy_attributes(reader, *entry, left_out, is_root)) return false;
      if (std::max<uint64_t>(out_.rnglists.size(), range_bytes_) > unit_.size() * kMostRangeBytes) return false;
      if (is_root) write_skeleton_attributes();
      is_root = false;
      if (entry->has_children) ++depth;
    } while (depth > 0);
    return true;
  }

  bool copy_attributes(ByteReader& reader, const DwarfAbbreviations::Entry& entry, bool left_out, bool is_root) {
    for (const auto& attribute : abbreviations_.attributes(entry)) {
      const size_t begin = reader.position();
      const DwarfValue value = read_dwarf_value(reader, attribute.form, attribute.constant, split_);
      if (!reader.ok()) return false;
      const uint32_t form = written_form(attribute);
      if (left_out || form == 0 || (is_root && is_of_skeleton(attribute.name))) continue;
      if (attribute.name == DW_AT_sibling && form == DW_FORM_ref4) {
        siblings_.emplace_back(static_cast<uint32_t>(out_.info.size()), value.number);
        put<uint32_t>(out_.info, 0);
        continue;
      }
      write_value(form, value, unit_.subspan(begin, reader.position() - begin));
    }
    return true;
  }

  void write_value(uint32_t form, const DwarfValue& value, Bytes raw) {
    switch (form) {
      case DW_FORM_addr:
        return put_address(values_.address(value).value_or(0));
      case DW_FORM_strp:
        return put<uint32_t>(out_.info, static_cast<uint32_t>(string_base_ + values_.string_offset(value).value_or(0)));
      case DW_FORM_ref4: {
        const bool of_section = value.kind == DwarfClass::kSectionReference;
        references_.emplace_back(static_cast<uint32_t>(out_.info.size()),
                                 of_section ? value.number - split_.offset : value.number);
        return put<uint32_t>(out_.info, 0);
      }
      case DW_FORM_sec_offset: {
        DwarfUnitValues::Ranges ranges;
        range_bytes_ += values_.ranges(value, ranges);
        return put_ranges(ranges);
      }
      default:
        out_.info += base::as_text(raw);
    }
  }

  void write_skeleton_attributes() {
    if (skeleton_.line_table) put<uint32_t>(out_.info, static_cast<uint32_t>(*skeleton_.line_table));
    out_.info += skeleton_.folder;
    out_.info.push_back('\0');
    put_address(skeleton_.bases.low_pc);
    put_ranges(skeleton_.ranges);
  }

  void put_address(uint64_t address) {
    if (split_.address_size == 8) return put<uint64_t>(out_.info, address);
    put<uint32_t>(out_.info, static_cast<uint32_t>(address));
  }

  void put_ranges(const DwarfUnitValues::Ranges& ranges) {
    out_.rnglists_at.push_back(static_cast<uint32_t>(out_.info.size()));
    put<uint32_t>(out_.info, static_cast<uint32_t>(out_.rnglists.size()));
    for (const auto& [begin, end] : ranges) {
      out_.rnglists.push_back(DW_RLE_start_length);
      out_.rnglists.append(reinterpret_cast<const char*>(&begin), split_.address_size);
      put_uleb(out_.rnglists, end - begin);
    }
    out_.rnglists.push_back(DW_RLE_end_of_list);
  }

  // Where an entry is now; 0, which no entry is at, for one that is left out.
  uint32_t moved(uint64_t offset) const {
    const auto at = std::ranges::lower_bound(places_, offset, {}, &std::pair<uint32_t, uint32_t>::first);
    return at != places_.end() && at->first == offset ? at->second : 0;
  }

  // The next sibling may be left out; what follows it, an entry or the end of the siblings, is not.
  uint32_t moved_or_next(uint64_t offset) const {
    const auto at = std::ranges::lower_bound(places_, offset, {}, &std::pair<uint32_t, uint32_t>::first);
    return at != places_.end() ? at->second : 0;
  }

  const SkeletonUnit& skeleton_;
  const DwarfUnitHeader& split_;
  const DwarfAbbreviations& abbreviations_;
  uint64_t string_base_;
  DwarfUnitValues values_;
  Bytes unit_;
  uint64_t root_code_ = 0;
  uint64_t range_bytes_ = 0;                               // of lists that were read
  std::vector<std::pair<uint32_t, uint32_t>> places_;      // of entries and ends of siblings: old and new
  std::vector<std::pair<uint32_t, uint64_t>> references_;  // where, and to which old place
  std::vector<std::pair<uint32_t, uint64_t>> siblings_;    // likewise
  JoinedUnit out_;
};

}  // namespace

std::optional<SkeletonUnit> SkeletonUnit::read(const DwarfUnitHeader& header, const DwarfSections& sections,
                                               DwarfAbbreviationCache& abbreviations) {
  if (header.type != (header.version >= 5 ? DW_UT_skeleton : DW_UT_compile)) return std::nullopt;
  SkeletonUnit unit{.header = header, .id = header.id};
  bool has_id = header.type == DW_UT_skeleton;
  std::optional<DwarfValue> name;
  std::optional<DwarfValue> folder;
  std::optional<DwarfValue> low_pc;
  std::optional<DwarfValue> high_pc;
  std::optional<DwarfValue> ranges;
  const bool whole =
      for_each_root_attribute(header, sections, abbreviations, [&](uint32_t attribute, const DwarfValue& value) {
        switch (attribute) {
          case DW_AT_GNU_dwo_id:
            unit.id = value.number;
            has_id = true;
            break;
          case DW_AT_GNU_dwo_name:
          case DW_AT_dwo_name:
            name = value;
            break;
          case DW_AT_comp_dir:
            folder = value;
            break;
          case DW_AT_low_pc:
            low_pc = value;
            break;
          case DW_AT_high_pc:
            high_pc = value;
            break;
          case DW_AT_ranges:
            ranges = value;
            break;
          case DW_AT_stmt_list:
            unit.line_table = value.number;
            break;
          case DW_AT_str_offsets_base:
            unit.bases.str_offsets = value.number;
            break;
          case DW_AT_addr_base:
          case DW_AT_GNU_addr_base:
            unit.bases.addr = value.number;
            break;
          case DW_AT_rnglists_base:
            unit.bases.rnglists = value.number;
            break;
          case DW_AT_GNU_ranges_base:
            unit.bases.ranges = value.number;
            break;
          default:
            break;
        }
      });
  if (!whole || !has_id || !name) return std::nullopt;
  DwarfBases own = unit.bases;
  own.ranges = 0;  // the base is for the split unit
  const DwarfUnitValues lookup(header, sections, own);
  if (low_pc) own.low_pc = unit.bases.low_pc = lookup.address(*low_pc).value_or(0);
  const DwarfUnitValues values(header, sections, own);
  unit.name = values.string(*name);
  if (folder) unit.folder = values.string(*folder);
  if (ranges) {
    unit.range_bytes = values.ranges(*ranges, unit.ranges);
  } else if (low_pc && high_pc) {
    const bool is_address = high_pc->kind == DwarfClass::kAddress;
    const uint64_t end = is_address ? values.address(*high_pc).value_or(0) : own.low_pc + high_pc->number;
    if (end > own.low_pc) unit.ranges.emplace_back(own.low_pc, end);
  }
  return unit;
}

std::optional<uint64_t> split_unit_id(const DwarfUnitHeader& header, const DwarfSections& sections,
                                      DwarfAbbreviationCache& abbreviations) {
  if (header.version >= 5) {
    if (header.type != DW_UT_split_compile) return std::nullopt;
    return header.id;
  }
  std::optional<uint64_t> id;
  for_each_root_attribute(header, sections, abbreviations, [&](uint32_t attribute, const DwarfValue& value) {
    if (attribute == DW_AT_GNU_dwo_id) id = value.number;
  });
  return id;
}

std::optional<JoinedUnit> JoinedUnit::make(const SkeletonUnit& skeleton, const DwarfUnitHeader& split,
                                           const DwarfSections& sections, const DwarfAbbreviations& abbreviations,
                                           uint64_t string_base) {
  // 64-bit DWARF is for debug information of 4 GiB, which is not joined.
  if (split.offset_size != 4 || split.size > UINT32_MAX) return std::nullopt;
  return UnitWriter(skeleton, split, sections, abbreviations, string_base).write();
}

}  // namespace tephra::objects
