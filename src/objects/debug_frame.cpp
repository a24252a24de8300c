#include "objects/debug_frame.h"

#include <elf.h>

#include "base/inflate.h"
#include "base/zstd_stream.h"

namespace tephra::objects {
namespace {

using base::Bytes;

constexpr uint32_t kZstd = 2;                       // ELFCOMPRESS_ZSTD, which elf.h may not know
constexpr uint64_t kLargest = uint64_t{256} << 20;  // rather little of debug information
// Compression shrinks such data to a tenth; a larger claim is false.
constexpr uint64_t kMostExpansion = 1100;

}  // namespace

DebugFrame::DebugFrame(const ElfFile& elf) {
  const auto* section = elf.section(".debug_frame");
  if (section == nullptr) return;
  elf.need(section->content);
  elf.need(section->compressed_content);
  const Bytes content =
      section->compressed_content.empty() ? section->content : decompress(elf, section->compressed_content);
  section_ = CfiSection(content, 0, CfiSection::Kind::kDebugFrame, elf.is_64bit());
}

Bytes DebugFrame::decompress(const ElfFile& elf, Bytes compressed) {
  base::ByteReader reader(compressed);
  const uint32_t type = reader.u32();
  if (elf.is_64bit()) reader.skip(4);
  const uint64_t size = elf.is_64bit() ? reader.u64() : reader.u32();
  reader.skip(elf.is_64bit() ? 8 : 4);  // alignment
  const Bytes packed = reader.bytes(reader.remaining());
  if (!reader.ok() || size > kLargest || size / kMostExpansion > packed.size()) return {};
  if (type == ELFCOMPRESS_ZLIB) {
    owned_.resize(size);
    if (!base::inflate_into(packed, std::as_writable_bytes(std::span(owned_)))) return {};
  } else if (type == kZstd) {
    base::ZstdDecompressor zstd;
    if (!zstd.decompress(packed, owned_, size) || owned_.size() != size) return {};
  }
  return base::as_bytes(owned_);
}

}  // namespace tephra::objects
