#include "objects/debug_frame.h"

#include "objects/packed_section.h"

namespace tephra::objects {
namespace {

constexpr uint64_t kLargest = uint64_t{256} << 20;  // rather little of debug information

}  // namespace

DebugFrame::DebugFrame(const ElfFile& elf) {
  const auto* section = elf.section(".debug_frame");
  if (section == nullptr) section = elf.section(".zdebug_frame");
  if (section == nullptr) return;
  elf.need(section->content);
  elf.need(section->compressed_content);
  const bool compressed = !section->compressed_content.empty() || section->name.starts_with(".z");
  const base::Bytes content = compressed ? unpack(*section, elf.is_64bit()) : section->content;
  section_ = CfiSection(content, 0, CfiSection::Kind::kDebugFrame, elf.is_64bit());
}

base::Bytes DebugFrame::unpack(const ElfFile::Section& section, bool is_64bit) {
  const auto packed = PackedSection::of(section, is_64bit);
  if (!packed || packed->size() > kLargest) return {};
  owned_.resize(packed->size());
  if (!packed->unpack(std::as_writable_bytes(std::span(owned_)))) return {};
  return base::as_bytes(owned_);
}

}  // namespace tephra::objects
