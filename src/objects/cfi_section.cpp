#include "objects/cfi_section.h"

#include <dwarf.h>
#include <elf.h>

#include <algorithm>
#include <string_view>

#include "objects/leb128.h"

namespace tephra::objects {
namespace {

using base::ByteReader;
using base::Bytes;

constexpr size_t kLongestAugmentation = 16;

uint64_t extended(int64_t value) { return static_cast<uint64_t>(value); }

std::optional<uint64_t> read_value(ByteReader& reader, uint8_t format, bool is_64bit) {
  switch (format & 0x0f) {
    case DW_EH_PE_absptr:
      return is_64bit ? reader.u64() : reader.u32();
    case DW_EH_PE_uleb128:
      return read_uleb(reader);
    case DW_EH_PE_udata2:
      return reader.u16();
    case DW_EH_PE_udata4:
      return reader.u32();
    case DW_EH_PE_udata8:
    case DW_EH_PE_sdata8:
      return reader.u64();
    case DW_EH_PE_sleb128:
      return extended(read_sleb(reader));
    case DW_EH_PE_sdata2:
      return extended(reader.read<int16_t>());
    case DW_EH_PE_sdata4:
      return extended(reader.read<int32_t>());
    default:
      return std::nullopt;
  }
}

// Text up to a NUL, of which no more is looked at than a real one has: any number of functions may refer to one entry.
std::string_view read_augmentation_text(ByteReader& reader, Bytes content) {
  if (!reader.ok()) return {};
  const size_t most = std::min(reader.remaining(), kLongestAugmentation + 1);
  ByteReader beginning(content.subspan(reader.position(), most));
  const std::string_view text = beginning.c_string();
  if (!beginning.ok()) reader.fail();
  reader.skip(beginning.position());
  return text;
}

}  // namespace

std::optional<CfiSection::Entry> CfiSection::entry(uint64_t offset) const {
  if (offset >= content_.size()) return std::nullopt;
  ByteReader reader(content_.subspan(offset));
  Entry entry;
  uint64_t length = reader.u32();
  if (length == UINT32_MAX) {
    length = reader.u64();
    entry.is_wide = true;
  }
  entry.begin = offset + reader.position();
  entry.content = reader.bytes(length);
  entry.next = entry.begin + length;
  if (!reader.ok() || length == 0) return std::nullopt;
  return entry;
}

bool CfiSection::goes_on_after(uint64_t offset) const {
  if (end_ == End::kAtZero || content_.size() < 8 || offset > content_.size() - 8) return false;
  return base::load<uint32_t>(content_.data() + offset) == 0;
}

std::optional<uint64_t> CfiSection::common_of(const Entry& entry) const {
  ByteReader reader(entry.content);
  // In .eh_frame the field has 4 bytes in long entries too.
  const bool is_wide = entry.is_wide && kind_ == Kind::kDebugFrame;
  const uint64_t reference = is_wide ? reader.u64() : reader.u32();
  if (!reader.ok()) return std::nullopt;
  if (kind_ == Kind::kEhFrame) {
    if (reference == 0 || reference > entry.begin) return std::nullopt;
    return entry.begin - reference;
  }
  if (reference == (is_wide ? UINT64_MAX : UINT32_MAX)) return std::nullopt;
  return reference;
}

std::optional<uint64_t> CfiSection::read_pointer(ByteReader& reader, uint8_t encoding, uint64_t reader_start) const {
  if (encoding == DW_EH_PE_omit) return std::nullopt;
  uint64_t place = address_ + reader_start + reader.position();
  if ((encoding & 0x70) == DW_EH_PE_aligned) {
    const uint64_t size = is_64bit_ ? 8 : 4;
    reader.skip((size - place % size) % size);
    encoding = DW_EH_PE_absptr;
  }
  const auto value = read_value(reader, encoding, is_64bit_);
  if (!value || !reader.ok()) return std::nullopt;
  switch (encoding & 0x70) {
    case 0:
      return *value;
    case DW_EH_PE_pcrel:
      return *value + place;
    case DW_EH_PE_datarel:
      return *value + data_base_;
    default:
      return std::nullopt;
  }
}

// Reads the augmentation data that the letters after 'z' announce.
void CfiSection::read_augmentation(ByteReader& reader, std::string_view letters, uint64_t start,
                                   CfiCommon& common) const {
  const uint64_t size = read_uleb(reader);
  if (size > reader.remaining()) return reader.fail();
  const size_t end = reader.position() + size;
  for (const char letter : letters) {
    if (letter == 'R') common.pointer_encoding = reader.u8();
    if (letter == 'L') reader.skip(1);
    if (letter == 'P') {
      const uint8_t encoding = reader.u8() & 0x7f;
      read_pointer(reader, encoding, start);
    }
    if (letter == 'S') common.is_signal_frame = true;
  }
  if (reader.position() > end) return reader.fail();
  reader.skip(end - reader.position());
}

std::optional<CfiCommon> CfiSection::read_common(uint64_t offset) const {
  const auto entry = this->entry(offset);
  if (!entry || common_of(*entry)) return std::nullopt;
  ByteReader reader(entry->content);
  reader.skip(entry->is_wide && kind_ == Kind::kDebugFrame ? 8 : 4);
  const uint8_t version = reader.u8();
  const std::string_view augmentation = read_augmentation_text(reader, entry->content);
  if (!reader.ok()) return std::nullopt;
  CfiCommon common;
  common.has_augmentation = augmentation.starts_with('z');
  if (augmentation == "eh") {
    reader.skip(is_64bit_ ? 8 : 4);  // GCC 2: where its exception table is
  } else if (!augmentation.empty() && !common.has_augmentation) {
    return std::nullopt;
  }
  if (version >= 4) reader.skip(2);
  common.code_alignment = read_uleb(reader);
  common.data_alignment = read_sleb(reader);
  common.return_register = version == 1 ? reader.u8() : read_uleb(reader);
  if (common.has_augmentation) read_augmentation(reader, augmentation.substr(1), entry->begin, common);
  common.instructions = reader.bytes(reader.remaining());
  if (!reader.ok()) return std::nullopt;
  return common;
}

std::optional<CfiFunction> CfiSection::read_function(const Entry& entry, const CfiCommon& common) const {
  ByteReader reader(entry.content);
  reader.skip(entry.is_wide && kind_ == Kind::kDebugFrame ? 8 : 4);
  const auto begin = read_pointer(reader, common.pointer_encoding, entry.begin);
  const auto size = read_pointer(reader, common.pointer_encoding & 0x0f, entry.begin);
  if (!begin || !size) return std::nullopt;
  CfiFunction function{*begin, *begin + *size, {}};
  if (common.has_augmentation) reader.skip(read_uleb(reader));
  function.instructions = reader.bytes(reader.remaining());
  if (!reader.ok()) return std::nullopt;
  return function;
}

std::optional<EhFrameHeader> read_eh_frame_header(const ElfFile& elf) {
  constexpr uint8_t kFormOfTable = DW_EH_PE_datarel | DW_EH_PE_sdata4;
  std::optional<EhFrameHeader> found;
  for (const auto& segment : elf.segments()) {
    if (segment.type != PT_GNU_EH_FRAME) continue;
    const Bytes content = elf.bytes_at(segment.address);
    elf.need(content.first(std::min<uint64_t>(content.size(), segment.file_size)));
    ByteReader reader(content);
    const uint8_t version = reader.u8();
    const uint8_t start_encoding = reader.u8();
    const uint8_t count_encoding = reader.u8();
    const uint8_t table_encoding = reader.u8();
    if (version != 1 || start_encoding != (DW_EH_PE_pcrel | DW_EH_PE_sdata4)) continue;
    EhFrameHeader header;
    header.address = segment.address;
    header.eh_frame = segment.address + 4 + extended(reader.read<int32_t>());
    if (count_encoding == DW_EH_PE_udata4 && table_encoding == kFormOfTable) {
      const uint64_t count = reader.u32();
      header.table = reader.bytes(count * 8);
    }
    if (reader.ok()) found = header;
  }
  return found;
}

CfiSection eh_frame_of(const ElfFile& elf) {
  const auto header = read_eh_frame_header(elf);
  const uint64_t data_base = header ? header->address : 0;
  if (const auto* section = elf.section(".eh_frame"); section != nullptr && !section->content.empty()) {
    elf.need(section->content);
    return {section->content, section->address, CfiSection::Kind::kEhFrame, elf.is_64bit(), data_base};
  }
  if (!header) return {};
  const Bytes content = elf.bytes_at(header->eh_frame);
  elf.need(content);
  return {content, header->eh_frame, CfiSection::Kind::kEhFrame, elf.is_64bit(), data_base, CfiSection::End::kAtZero};
}

}  // namespace tephra::objects
