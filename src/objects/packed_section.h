#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/bytes.h"
#include "objects/elf_file.h"

namespace tephra::objects {

// The content of a compressed section: zlib or zstd, by its flag or, of the older kind, by its name (.zdebug_…).
class PackedSection {
 public:
  // Nothing when the section is not compressed, or cannot be as large as it claims.
  static std::optional<PackedSection> of(const ElfFile::Section& section, bool is_64bit);

  uint64_t size() const { return size_; }
  // Writes size() bytes; false when the section does not hold them.
  bool unpack(std::span<std::byte> output) const;

 private:
  uint32_t type_ = 0;
  uint64_t size_ = 0;
  base::Bytes packed_;
};

}  // namespace tephra::objects
