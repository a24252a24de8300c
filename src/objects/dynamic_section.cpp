#include "objects/dynamic_section.h"

#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace tephra::objects {
namespace {

// Programs need some hundred libraries at most, and a hostile file may list anything.
constexpr size_t kMostNeeded = 1024;

base::Bytes bytes_of(const ElfFile& elf, const ElfFile::Segment& segment) {
  const base::Bytes bytes = elf.bytes_at(segment.address);
  const base::Bytes part = bytes.first(std::min<uint64_t>(bytes.size(), segment.file_size));
  elf.need(part);
  return part;
}

using Entries = std::vector<std::pair<uint64_t, uint64_t>>;  // tag, value

template <class Entry>
Entries read_entries(base::Bytes table) {
  Entries entries;
  for (base::ByteReader reader(table); reader.remaining() >= sizeof(Entry);) {
    const auto entry = reader.read<Entry>();
    if (entry.d_tag == DT_NULL) break;
    entries.emplace_back(static_cast<uint64_t>(entry.d_tag), uint64_t{entry.d_un.d_val});
  }
  return entries;
}

uint64_t value_of(const Entries& entries, uint64_t tag) {
  const auto at = std::find_if(entries.begin(), entries.end(), [&](const auto& entry) { return entry.first == tag; });
  return at == entries.end() ? 0 : at->second;
}

base::Bytes names_of(const ElfFile& elf, const Entries& entries) {
  const base::Bytes names = elf.bytes_at(value_of(entries, DT_STRTAB));
  const base::Bytes part = names.first(std::min<uint64_t>(names.size(), value_of(entries, DT_STRSZ)));
  elf.need(part);
  return part;
}

void read_names(const Entries& entries, base::Bytes names, DynamicSection& found) {
  for (const auto& [tag, value] : entries) {
    if (value >= names.size()) continue;
    const std::string_view name = base::until_nul(names.subspan(value));
    if (tag == DT_NEEDED && found.needed.size() < kMostNeeded) found.needed.push_back(name);
    if (tag == DT_RPATH) found.rpath = name;
    if (tag == DT_RUNPATH) found.runpath = name;
  }
  if (!found.runpath.empty()) found.rpath = {};
}

}  // namespace

DynamicSection read_dynamic_section(const ElfFile& elf) {
  DynamicSection found;
  for (const ElfFile::Segment& segment : elf.segments()) {
    if (segment.type == PT_INTERP) found.interpreter = base::until_nul(bytes_of(elf, segment));
    if (segment.type != PT_DYNAMIC) continue;
    const base::Bytes table = bytes_of(elf, segment);
    const Entries entries = elf.is_64bit() ? read_entries<Elf64_Dyn>(table) : read_entries<Elf32_Dyn>(table);
    read_names(entries, names_of(elf, entries), found);
  }
  return found;
}

}  // namespace tephra::objects
