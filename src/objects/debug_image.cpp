#include "objects/debug_image.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "objects/elf_file.h"
#include "objects/packed_section.h"

namespace tephra::objects {
namespace {

using base::Bytes;

// Of an ordinary file and, with ".dwo" at the end, of split units.
constexpr std::array<std::string_view, 14> kNeeded{
    ".debug_info",    ".debug_abbrev",   ".debug_line",     ".debug_str",         ".debug_line_str",
    ".debug_aranges", ".debug_rnglists", ".debug_ranges",   ".debug_str_offsets", ".debug_addr",
    ".debug_types",   ".debug_names",    ".debug_cu_index", ".debug_sup"};
constexpr uint64_t kLargest = uint64_t{2} << 30;
constexpr size_t kMostSections = 64;

std::string plain_name(const ElfFile::Section& section) {
  std::string name(section.name);
  if (name.starts_with(".zdebug")) name.erase(1, 1);
  return name;
}

bool is_needed(std::string_view name) {
  if (name.ends_with(".dwo")) name.remove_suffix(4);
  return std::ranges::find(kNeeded, name) != kNeeded.end();
}

bool is_compressed(const ElfFile::Section& section) {
  return section.name.starts_with(".zdebug") ||
         (section.name.starts_with(".debug") && !section.compressed_content.empty());
}

}  // namespace

DebugImage::DebugImage(Bytes file) {
  const auto elf = ElfFile::parse(file);
  if (!elf) return;
  if (std::ranges::none_of(elf->sections(), is_compressed)) {
    image_ = file;
    return;
  }
  std::vector<SectionImage::Section> sections;
  uint64_t total = 0;
  for (const auto& section : elf->sections()) {
    std::string name = plain_name(section);
    if (!is_needed(name)) continue;
    if (!is_compressed(section)) {
      sections.push_back(SectionImage::copied(std::move(name), section.content));
    } else if (const auto packed = PackedSection::of(section, elf->is_64bit())) {
      sections.push_back({std::move(name), packed->size(),
                          [packed = *packed](std::span<std::byte> output) { return packed.unpack(output); }});
    } else {
      continue;
    }
    total += sections.back().size;
  }
  if (sections.size() > kMostSections || total > kLargest) return;
  made_ = SectionImage(file, sections);
  image_ = made_.bytes();
}

}  // namespace tephra::objects
