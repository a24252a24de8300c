#include "objects/elf_file.h"

#include <elf.h>

#include <algorithm>
#include <bit>

namespace tephra::objects {
namespace {

using base::ByteReader;
using base::Bytes;

constexpr unsigned char kHostOrder = std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;

// Of a linked file; a sparse one could claim any number.
constexpr uint64_t kMostSections = 1 << 20;

// The header fields used here, whatever the class of the file.
struct Header {
  uint16_t machine = 0;
  uint16_t type = 0;
  uint64_t entry = 0;
  uint64_t segment_table = 0;
  uint64_t section_table = 0;
  uint16_t segment_size = 0;
  uint16_t segment_count = 0;
  uint16_t section_size = 0;
  uint16_t section_count = 0;
  uint16_t section_names = 0;
};

template <class Ehdr>
std::optional<Header> read_header(Bytes file) {
  if (file.size() < sizeof(Ehdr)) return std::nullopt;
  const auto raw = base::load<Ehdr>(file.data());
  return Header{raw.e_machine,   raw.e_type,  raw.e_entry,     raw.e_phoff, raw.e_shoff,
                raw.e_phentsize, raw.e_phnum, raw.e_shentsize, raw.e_shnum, raw.e_shstrndx};
}

template <class Phdr>
ElfFile::Segment to_segment(Bytes entry) {
  const auto raw = base::load<Phdr>(entry.data());
  return {raw.p_type, raw.p_flags, raw.p_offset, raw.p_vaddr, raw.p_filesz, raw.p_memsz};
}

std::string_view text_at(Bytes strings, uint64_t offset) {
  if (offset >= strings.size()) return {};
  return base::until_nul(strings.subspan(offset));
}

}  // namespace

base::Result<ElfFile> ElfFile::parse(Bytes file, Need need) {
  if (need) need(0, sizeof(Elf64_Ehdr));
  const auto refuse = [](const char* why) { return base::failed("cannot read the ELF file", {}, why); };
  if (file.size() < EI_NIDENT || base::as_text(file.first(SELFMAG)) != ELFMAG) return refuse("it is not an ELF file");
  const auto identity = [&](int index) { return static_cast<unsigned char>(file[index]); };
  if (identity(EI_DATA) != kHostOrder) return refuse("it has another byte order");
  ElfFile elf;
  elf.file_ = file;
  elf.need_ = std::move(need);
  elf.is_64bit_ = identity(EI_CLASS) == ELFCLASS64;
  const auto header = elf.is_64bit_ ? read_header<Elf64_Ehdr>(file) : read_header<Elf32_Ehdr>(file);
  if (!header) return refuse("it ends inside its header");
  elf.machine_ = header->machine;
  elf.type_ = header->type;
  elf.entry_ = header->entry;
  elf.read_sections(header->section_table, header->section_size, header->section_count, header->section_names);
  elf.read_segments(header->segment_table, header->segment_size, header->segment_count);
  elf.find_build_id();
  return elf;
}

Bytes ElfFile::part(uint64_t offset, uint64_t size) const {
  if (offset >= file_.size()) return {};
  return file_.subspan(offset, std::min<uint64_t>(size, file_.size() - offset));
}

void ElfFile::need(Bytes part) const {
  if (need_ && !part.empty()) need_(static_cast<uint64_t>(part.data() - file_.data()), part.size());
}

void ElfFile::read_segments(uint64_t table, uint64_t entry_size, uint64_t count) {
  const size_t expected = is_64bit_ ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
  if (entry_size < expected) return;
  need(part(table, count * entry_size));
  for (uint64_t i = 0; i < count; ++i) {
    const Bytes entry = part(table + i * entry_size, expected);
    if (entry.size() < expected) return;
    segments_.push_back(is_64bit_ ? to_segment<Elf64_Phdr>(entry) : to_segment<Elf32_Phdr>(entry));
  }
}

ElfFile::Section ElfFile::read_section(Bytes entry) const {
  const auto convert = [&](const auto& raw) {
    Section section;
    section.type = raw.sh_type;
    section.flags = raw.sh_flags;
    section.address = raw.sh_addr;
    section.size = raw.sh_size;
    section.link = raw.sh_link;
    section.entry_size = raw.sh_entsize;
    const bool compressed = (raw.sh_flags & SHF_COMPRESSED) != 0;
    const bool has_content = raw.sh_type != SHT_NOBITS && raw.sh_type != SHT_NULL;
    if (has_content) (compressed ? section.compressed_content : section.content) = part(raw.sh_offset, raw.sh_size);
    return section;
  };
  return is_64bit_ ? convert(base::load<Elf64_Shdr>(entry.data())) : convert(base::load<Elf32_Shdr>(entry.data()));
}

void ElfFile::read_sections(uint64_t table, uint64_t entry_size, uint64_t count, uint32_t names_index) {
  const size_t expected = is_64bit_ ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
  if (table == 0 || entry_size < expected) return;
  const Bytes first = part(table, expected);
  if (first.size() < expected) return;
  need(first);
  // Numbers that do not fit the header are kept in the first section.
  const Section zero = read_section(first);
  if (count == 0) count = zero.size;
  if (names_index == SHN_XINDEX) names_index = zero.link;
  std::vector<uint32_t> names;
  count = std::min(count, kMostSections);
  need(part(table, count * entry_size));
  for (uint64_t i = 0; i < count; ++i) {
    const Bytes entry = part(table + i * entry_size, expected);
    if (entry.size() < expected) break;
    names.push_back(base::load<uint32_t>(entry.data()));  // sh_name is first in both classes
    sections_.push_back(read_section(entry));
  }
  if (names_index >= sections_.size()) return;
  const Bytes strings = sections_[names_index].content;
  need(strings);
  for (size_t i = 0; i < sections_.size(); ++i) sections_[i].name = text_at(strings, names[i]);
}

const ElfFile::Section* ElfFile::section(std::string_view name) const {
  const auto at = std::find_if(sections_.begin(), sections_.end(), [&](const Section& s) { return s.name == name; });
  return at == sections_.end() ? nullptr : &*at;
}

Bytes find_build_id_note(Bytes notes, uint64_t alignment) {
  const uint64_t align = alignment == 8 ? 8 : 4;
  const auto padded = [&](uint64_t size) { return (size + align - 1) / align * align; };
  ByteReader reader(notes);
  while (reader.remaining() >= 12) {
    const uint32_t name_size = reader.u32();
    const uint32_t content_size = reader.u32();
    const uint32_t type = reader.u32();
    const Bytes name = reader.bytes(std::min<uint64_t>(padded(name_size), reader.remaining()));
    const Bytes content = reader.bytes(std::min<uint64_t>(padded(content_size), reader.remaining()));
    if (name.size() < name_size || content.size() < content_size) return {};
    const bool gnu = base::as_text(name.first(name_size)) == std::string_view("GNU\0", 4);
    if (type == NT_GNU_BUILD_ID && gnu && content_size > 0) return content.first(content_size);
  }
  return {};
}

void ElfFile::find_build_id() {
  // Sections first: a debug-only file keeps its segment table but not the bytes that it points to.
  for (const Section& section : sections_) {
    if (section.type != SHT_NOTE || !build_id_.empty()) continue;
    need(section.content);
    build_id_ = find_build_id_note(section.content);
  }
  if (!sections_.empty()) return;
  for (const Segment& segment : segments_) {
    if (segment.type != PT_NOTE || !build_id_.empty()) continue;
    const Bytes notes = part(segment.offset, segment.file_size);
    need(notes);
    build_id_ = find_build_id_note(notes);
  }
}

std::optional<ElfFile::DebugLink> ElfFile::debug_link() const {
  const Section* link = section(".gnu_debuglink");
  if (link == nullptr) return std::nullopt;
  need(link->content);
  ByteReader reader(link->content);
  const std::string_view name = reader.c_string();
  reader.skip((4 - reader.position() % 4) % 4);
  const uint32_t crc = reader.u32();
  // The name of a file in some folder, never a path out of it.
  if (!reader.ok() || name.empty() || name.find('/') != std::string_view::npos) return std::nullopt;
  return DebugLink{name, crc};
}

std::optional<ElfFile::AlternateLink> ElfFile::alternate_link() const {
  const Section* link = section(".gnu_debugaltlink");
  if (link == nullptr) return std::nullopt;
  need(link->content);
  ByteReader reader(link->content);
  const std::string_view name = reader.c_string();
  const Bytes build_id = reader.bytes(reader.remaining());
  if (!reader.ok() || name.empty() || build_id.size() < 2) return std::nullopt;
  return AlternateLink{name, build_id};
}

bool ElfFile::has_debug_info() const {
  return std::any_of(sections_.begin(), sections_.end(), [](const Section& section) {
    return section.type != SHT_NOBITS && (section.name == ".debug_info" || section.name == ".zdebug_info");
  });
}

std::optional<uint64_t> ElfFile::address_of_offset(uint64_t offset) const {
  std::optional<uint64_t> found;
  for (const Segment& segment : segments_) {
    if (segment.type != PT_LOAD || offset < segment.offset || offset - segment.offset >= segment.file_size) continue;
    const bool executable = (segment.flags & PF_X) != 0;
    if (!found || executable) found = segment.address + (offset - segment.offset);
    if (executable) break;
  }
  return found;
}

std::optional<uint64_t> ElfFile::offset_of_address(uint64_t address) const {
  for (const Segment& segment : segments_) {
    if (segment.type != PT_LOAD || address < segment.address) continue;
    if (address - segment.address < segment.file_size) return segment.offset + (address - segment.address);
  }
  return std::nullopt;
}

Bytes ElfFile::bytes_at(uint64_t address) const {
  for (const Segment& segment : segments_) {
    if (segment.type != PT_LOAD || address < segment.address) continue;
    const uint64_t into = address - segment.address;
    if (into < segment.file_size) return part(segment.offset + into, segment.file_size - into);
  }
  return {};
}

}  // namespace tephra::objects
