#include "objects/range_lists.h"

#include <dwarf.h>
#include <gelf.h>

#include <string_view>

#include "objects/leb128.h"

namespace tephra::objects {
namespace {

using base::ByteReader;
using base::Bytes;

// libdw has unpacked the sections that it uses.
Bytes content_of(Elf_Scn* section) {
  const Elf_Data* data = ::elf_getdata(section, nullptr);
  if (data == nullptr || data->d_buf == nullptr) return {};
  return {static_cast<const std::byte*>(data->d_buf), data->d_size};
}

bool is_end(ByteReader& reader, unsigned address_size) {
  const uint64_t begin = address_size == 8 ? reader.u64() : reader.u32();
  const uint64_t end = address_size == 8 ? reader.u64() : reader.u32();
  return begin == 0 && end == 0;
}

// Up to DWARF 4: pairs of addresses.
uint64_t old_list_bytes(ByteReader reader, unsigned address_size) {
  while (reader.ok() && !is_end(reader, address_size)) continue;
  return reader.position();
}

uint64_t new_list_bytes(ByteReader reader, unsigned address_size) {
  while (reader.ok()) {
    switch (reader.u8()) {
      case DW_RLE_base_addressx:
        read_uleb(reader);
        break;
      case DW_RLE_startx_endx:
      case DW_RLE_startx_length:
      case DW_RLE_offset_pair:
        read_uleb(reader);
        read_uleb(reader);
        break;
      case DW_RLE_base_address:
        reader.skip(address_size);
        break;
      case DW_RLE_start_end:
        reader.skip(address_size * size_t{2});
        break;
      case DW_RLE_start_length:
        reader.skip(address_size);
        read_uleb(reader);
        break;
      default:  // the end of the list, or not a list
        return reader.position();
    }
  }
  return reader.position();
}

}  // namespace

const RangeLists::Sections& RangeLists::sections_of(Dwarf* dwarf) {
  for (const auto& [known, sections] : known_) {
    if (known == dwarf) return sections;
  }
  Sections found;
  Elf* elf = ::dwarf_getelf(dwarf);
  size_t names = 0;
  if (elf != nullptr && ::elf_getshdrstrndx(elf, &names) == 0) {
    for (Elf_Scn* section = nullptr; (section = ::elf_nextscn(elf, section)) != nullptr;) {
      GElf_Shdr header;
      if (::gelf_getshdr(section, &header) == nullptr) continue;
      const char* text = ::elf_strptr(elf, names, header.sh_name);
      const std::string_view name = text != nullptr ? text : "";
      if (name == ".debug_ranges") found.ranges = content_of(section);
      if (name == ".debug_rnglists") found.rnglists = content_of(section);
    }
  }
  return known_.emplace_back(dwarf, found).second;
}

uint64_t RangeLists::bytes_of(Dwarf_Die& entry) {
  Dwarf_Attribute attribute;
  Dwarf_Word offset = 0;
  if (::dwarf_attr(&entry, DW_AT_ranges, &attribute) == nullptr) return 0;
  if (::dwarf_formudata(&attribute, &offset) != 0) return 0;
  Dwarf_Half version = 0;
  uint8_t address_size = 0;
  Dwarf_Die unit;
  if (::dwarf_cu_die(entry.cu, &unit, &version, nullptr, &address_size, nullptr, nullptr, nullptr) == nullptr) return 0;
  const Sections& sections = sections_of(::dwarf_cu_getdwarf(entry.cu));
  const Bytes lists = version < 5 ? sections.ranges : sections.rnglists;
  if (offset >= lists.size()) return 0;
  const ByteReader reader(lists.subspan(offset));
  return version < 5 ? old_list_bytes(reader, address_size) : new_list_bytes(reader, address_size);
}

}  // namespace tephra::objects
