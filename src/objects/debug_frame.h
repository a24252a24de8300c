#pragma once

#include <string>

#include "objects/cfi_section.h"
#include "objects/elf_file.h"

namespace tephra::objects {

// .debug_frame of a file, decompressed where it is compressed (zlib or zstd). Debug files have it where .eh_frame was
// not wanted in the program itself.
class DebugFrame {
 public:
  explicit DebugFrame(const ElfFile& elf);
  DebugFrame(const DebugFrame&) = delete;
  DebugFrame& operator=(const DebugFrame&) = delete;

  // Empty where there is none, and where it cannot be decompressed. Lives as long as this and the file's bytes.
  const CfiSection& section() const { return section_; }

 private:
  base::Bytes unpack(const ElfFile::Section& section, bool is_64bit);

  std::string owned_;
  CfiSection section_;
};

}  // namespace tephra::objects
