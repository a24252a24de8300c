#pragma once

#include <cstdint>
#include <vector>

#include "abi/frame_rules.h"
#include "objects/cfi_section.h"
#include "objects/elf_file.h"

namespace tephra::objects {

// The call-frame information of a code object, compiled; see abi/frame_rules.h.
struct FrameRows {
  std::vector<tephra_frame_block> blocks;
  std::vector<tephra_frame_rule> rules;
  uint64_t rows = 0;
  uint64_t unsupported_rows = 0;

  uint64_t functions = 0;        // described, or pieces of them
  uint64_t discarded = 0;        // functions not in loaded code: what linkers have discarded
  uint64_t beyond_reach = 0;     // functions beyond the first 4 GiB of the file
  uint64_t damaged = 0;          // functions whose information cannot be read, in whole or in part
  uint64_t code_bytes = 0;       // loaded, executable
  uint64_t described_bytes = 0;  // of them
};

// Compiles .eh_frame, and what only .debug_frame of the file or of `debug_file` (may be null) describes; for x86-64 and
// ARM64, 64 bit. Any other file has no rows. Large files are compiled by several threads.
FrameRows build_frame_rows(const ElfFile& elf, const ElfFile* debug_file = nullptr);

// Code in memory that is in no file, and what describes it. Rows are looked up by the distance from `address`.
struct CodeInMemory {
  uint16_t machine = 0;
  uint64_t address = 0;
  uint64_t size = 0;
};
FrameRows build_frame_rows(const CodeInMemory& code, const CfiSection& frames);

// Whether so much code is not described that a debug file is worth looking for.
bool lacks_call_frames(const FrameRows& rows);

}  // namespace tephra::objects
