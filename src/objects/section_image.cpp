#include "objects/section_image.h"

#include <elf.h>

#include <cstring>

#include "base/parallel.h"

namespace tephra::objects {
namespace {

using base::Bytes;

uint64_t aligned(uint64_t offset) { return (offset + 15) / 16 * 16; }

// Lays out: header, sections, their names, the table of sections.
class Layout {
 public:
  Layout(bool is_64bit, const std::vector<SectionImage::Section>& sections)
      : is_64bit_(is_64bit), sections_(sections), sizes_(sections.size()) {
    uint64_t at = aligned(sizeof(Elf64_Ehdr));
    names_ = std::string("\0.shstrtab\0", 11);
    for (const SectionImage::Section& section : sections) {
      offsets_.push_back(at);
      at = aligned(at + section.size);
      name_offsets_.push_back(static_cast<uint32_t>(names_.size()));
      names_ += section.name + '\0';
    }
    names_at_ = at;
    table_at_ = aligned(at + names_.size());
  }

  uint64_t size() const {
    return table_at_ + (sections_.size() + 2) * (is_64bit_ ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr));
  }

  void fill(Bytes original, std::byte* image) {
    base::parallel_for(sections_.size(), [&](size_t index) {
      const SectionImage::Section& section = sections_[index];
      const bool whole = section.fill({image + offsets_[index], section.size});
      sizes_[index] = whole ? section.size : 0;
    });
    std::memcpy(image + names_at_, names_.data(), names_.size());
    is_64bit_ ? write_headers<Elf64_Ehdr, Elf64_Shdr>(original, image)
              : write_headers<Elf32_Ehdr, Elf32_Shdr>(original, image);
  }

 private:
  template <class Ehdr, class Shdr>
  void write_headers(Bytes original, std::byte* image) const {
    auto header = base::load<Ehdr>(original.data());
    header.e_phoff = 0;
    header.e_phnum = 0;
    header.e_shoff = static_cast<decltype(header.e_shoff)>(table_at_);
    header.e_shentsize = sizeof(Shdr);
    header.e_shnum = static_cast<uint16_t>(sections_.size() + 2);
    header.e_shstrndx = 1;
    std::memcpy(image, &header, sizeof header);
    std::vector<Shdr> table(sections_.size() + 2);
    const auto describe = [](Shdr& row, uint32_t name, uint32_t type, uint64_t offset, uint64_t size) {
      row.sh_name = name;
      row.sh_type = type;
      row.sh_offset = static_cast<decltype(row.sh_offset)>(offset);
      row.sh_size = static_cast<decltype(row.sh_size)>(size);
      row.sh_addralign = 1;
    };
    describe(table[1], 1, SHT_STRTAB, names_at_, names_.size());
    for (size_t i = 0; i < sections_.size(); ++i) {
      describe(table[i + 2], name_offsets_[i], SHT_PROGBITS, offsets_[i], sizes_[i]);
    }
    std::memcpy(image + table_at_, table.data(), table.size() * sizeof(Shdr));
  }

  bool is_64bit_;
  const std::vector<SectionImage::Section>& sections_;
  std::vector<uint64_t> sizes_;
  std::vector<uint64_t> offsets_;
  std::string names_;
  std::vector<uint32_t> name_offsets_;
  uint64_t names_at_ = 0;
  uint64_t table_at_ = 0;
};

}  // namespace

SectionImage::Section SectionImage::copied(std::string name, Bytes content) {
  return {std::move(name), content.size(), [content](std::span<std::byte> output) {
            if (!content.empty()) std::memcpy(output.data(), content.data(), content.size());
            return true;
          }};
}

SectionImage::SectionImage(Bytes original, const std::vector<Section>& sections) {
  const bool is_64bit = static_cast<unsigned char>(original[EI_CLASS]) == ELFCLASS64;
  Layout layout(is_64bit, sections);
  size_ = layout.size();
  image_ = std::make_unique_for_overwrite<std::byte[]>(size_);
  layout.fill(original, image_.get());
}

}  // namespace tephra::objects
