#include "objects/packed_section.h"

#include <elf.h>
#include <endian.h>

#include "base/inflate.h"
#include "base/zstd_stream.h"

namespace tephra::objects {
namespace {

#ifndef ELFCOMPRESS_ZSTD
constexpr uint32_t ELFCOMPRESS_ZSTD = 2;
#endif

// zlib cannot shrink data more than this, so a larger claim is false. zstd can, but of real sections it does not.
constexpr uint64_t kMostExpansion = 1100;

}  // namespace

std::optional<PackedSection> PackedSection::of(const ElfFile::Section& section, bool is_64bit) {
  PackedSection packed;
  const bool old_kind = section.compressed_content.empty();
  base::ByteReader reader(old_kind ? section.content : section.compressed_content);
  if (old_kind) {
    if (!section.name.starts_with(".zdebug") || base::as_text(reader.bytes(4)) != "ZLIB") return std::nullopt;
    packed.type_ = ELFCOMPRESS_ZLIB;
    packed.size_ = be64toh(reader.u64());
  } else {
    packed.type_ = reader.u32();
    if (is_64bit) reader.skip(4);
    packed.size_ = is_64bit ? reader.u64() : reader.u32();
    reader.skip(is_64bit ? 8 : 4);
  }
  packed.packed_ = reader.bytes(reader.remaining());
  if (!reader.ok() || packed.size_ / kMostExpansion > packed.packed_.size()) return std::nullopt;
  if (packed.type_ != ELFCOMPRESS_ZLIB && packed.type_ != ELFCOMPRESS_ZSTD) return std::nullopt;
  return packed;
}

bool PackedSection::unpack(std::span<std::byte> output) const {
  if (output.size() != size_) return false;
  return type_ == ELFCOMPRESS_ZSTD ? base::unzstd_into(packed_, output) : base::inflate_into(packed_, output);
}

}  // namespace tephra::objects
