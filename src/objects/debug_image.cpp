#include "objects/debug_image.h"

#include <elf.h>
#include <endian.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/inflate.h"
#include "base/parallel.h"
#include "objects/elf_file.h"

namespace tephra::objects {
namespace {

using base::Bytes;

constexpr std::array<std::string_view, 12> kNeeded{
    ".debug_info",     ".debug_abbrev", ".debug_line",        ".debug_str",  ".debug_line_str", ".debug_aranges",
    ".debug_rnglists", ".debug_ranges", ".debug_str_offsets", ".debug_addr", ".debug_types",    ".debug_names"};
// zlib cannot shrink data more than this, so a larger claim is false.
constexpr uint64_t kMostExpansion = 1100;
constexpr uint64_t kLargest = uint64_t{2} << 30;

// A section of the new file.
struct Part {
  std::string name;
  Bytes content;     // as it is, or
  Bytes compressed;  // a zlib stream of
  uint64_t size = 0;
  uint64_t offset = 0;  // in the new file
};

// The header of a compressed section, and of the older kind that is known by its name.
bool read_compressed(const ElfFile& elf, const ElfFile::Section& section, Part& part) {
  if (!section.compressed_content.empty()) {
    base::ByteReader reader(section.compressed_content);
    const uint32_t type = reader.u32();
    if (elf.is_64bit()) reader.skip(4);
    part.size = elf.is_64bit() ? reader.u64() : reader.u32();
    reader.skip(elf.is_64bit() ? 8 : 4);
    part.compressed = reader.bytes(reader.remaining());
    return reader.ok() && type == ELFCOMPRESS_ZLIB;
  }
  base::ByteReader reader(section.content);
  if (base::as_text(reader.bytes(4)) != "ZLIB") return false;
  part.size = be64toh(reader.u64());
  part.compressed = reader.bytes(reader.remaining());
  return reader.ok();
}

std::optional<Part> to_part(const ElfFile& elf, const ElfFile::Section& section) {
  Part part;
  const bool old_kind = section.name.starts_with(".zdebug");
  part.name = section.name;
  if (old_kind) part.name.erase(1, 1);
  if (std::ranges::find(kNeeded, part.name) == kNeeded.end()) return std::nullopt;
  if (!old_kind && section.compressed_content.empty()) {
    part.content = section.content;
    part.size = section.content.size();
    return part;
  }
  if (!read_compressed(elf, section, part)) return std::nullopt;
  if (part.size > kLargest || part.size / kMostExpansion > part.compressed.size()) return std::nullopt;
  return part;
}

bool is_compressed(const ElfFile::Section& section) {
  return section.name.starts_with(".zdebug") ||
         (section.name.starts_with(".debug") && !section.compressed_content.empty());
}

uint64_t aligned(uint64_t offset) { return (offset + 15) / 16 * 16; }

// Lays out: header, sections, their names, the table of sections.
class ImageMaker {
 public:
  ImageMaker(const ElfFile& elf, Bytes original, std::vector<Part> parts)
      : original_(original), parts_(std::move(parts)) {
    is_64bit_ = elf.is_64bit();
    uint64_t at = aligned(sizeof(Elf64_Ehdr));
    names_ = std::string("\0.shstrtab\0", 11);
    for (Part& part : parts_) {
      part.offset = at;
      at = aligned(at + part.size);
      name_offsets_.push_back(static_cast<uint32_t>(names_.size()));
      names_ += part.name + '\0';
    }
    names_at_ = at;
    table_at_ = aligned(at + names_.size());
    size_ = table_at_ + (parts_.size() + 2) * (is_64bit_ ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr));
  }

  uint64_t size() const { return size_; }

  // A section that does not decompress to what it claims is zero.
  void fill(std::byte* image) const {
    base::parallel_for(parts_.size(), [&](size_t index) {
      const Part& part = parts_[index];
      if (!part.content.empty()) std::memcpy(image + part.offset, part.content.data(), part.content.size());
      if (part.compressed.empty()) return;
      const std::span<std::byte> output(image + part.offset, part.size);
      if (!base::inflate_into(part.compressed, output)) std::memset(output.data(), 0, output.size());
    });
    std::memcpy(image + names_at_, names_.data(), names_.size());
    is_64bit_ ? write_headers<Elf64_Ehdr, Elf64_Shdr>(image) : write_headers<Elf32_Ehdr, Elf32_Shdr>(image);
  }

 private:
  template <class Ehdr, class Shdr>
  void write_headers(std::byte* image) const {
    auto header = base::load<Ehdr>(original_.data());
    header.e_phoff = 0;
    header.e_phnum = 0;
    header.e_shoff = static_cast<decltype(header.e_shoff)>(table_at_);
    header.e_shentsize = sizeof(Shdr);
    header.e_shnum = static_cast<uint16_t>(parts_.size() + 2);
    header.e_shstrndx = 1;
    std::memcpy(image, &header, sizeof header);
    std::vector<Shdr> table(parts_.size() + 2);
    const auto describe = [](Shdr& row, uint32_t name, uint32_t type, uint64_t offset, uint64_t size) {
      row.sh_name = name;
      row.sh_type = type;
      row.sh_offset = static_cast<decltype(row.sh_offset)>(offset);
      row.sh_size = static_cast<decltype(row.sh_size)>(size);
      row.sh_addralign = 1;
    };
    describe(table[1], 1, SHT_STRTAB, names_at_, names_.size());
    for (size_t i = 0; i < parts_.size(); ++i) {
      describe(table[i + 2], name_offsets_[i], SHT_PROGBITS, parts_[i].offset, parts_[i].size);
    }
    std::memcpy(image + table_at_, table.data(), table.size() * sizeof(Shdr));
  }

  Bytes original_;
  bool is_64bit_ = true;
  std::vector<Part> parts_;
  std::string names_;
  std::vector<uint32_t> name_offsets_;
  uint64_t names_at_ = 0;
  uint64_t table_at_ = 0;
  uint64_t size_ = 0;
};

}  // namespace

DebugImage::DebugImage(Bytes file) {
  const auto elf = ElfFile::parse(file);
  if (!elf) return;
  if (std::ranges::none_of(elf->sections(), is_compressed)) {
    image_ = file;
    return;
  }
  std::vector<Part> parts;
  uint64_t total = 0;
  for (const auto& section : elf->sections()) {
    if (auto part = to_part(*elf, section)) {
      total += part->size;
      parts.push_back(std::move(*part));
    }
  }
  if (parts.size() > 64 || total > kLargest) return;
  const ImageMaker maker(*elf, file, std::move(parts));
  made_ = std::make_unique_for_overwrite<std::byte[]>(maker.size());
  maker.fill(made_.get());
  image_ = Bytes(made_.get(), maker.size());
}

}  // namespace tephra::objects
