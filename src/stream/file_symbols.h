#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/embedded_names.h"
#include "model/profile.h"

namespace tephra::stream {

// A symbol table that a recording carries for a file that it ran, as simpleperf stores it. Texts point into the bytes
// of the recording.
struct FileSymbols {
  struct Symbol {
    uint64_t start = 0;
    uint32_t size = 0;
    std::string_view name;
  };

  std::string_view path;
  // Symbols have addresses as the file's program headers give them: its code begins at `code_address`, which is at
  // `code_offset` of the file; for a kernel module, of its memory. Nothing: at the beginning.
  uint64_t code_address = 0;
  std::optional<uint64_t> code_offset;
  std::vector<Symbol> symbols;  // sorted by their start
};

// The names that the tables have for the frames of a profile that was read from the same recording. Frames that they do
// not name are left out.
model::EmbeddedNames name_frames(std::span<const FileSymbols> files, const model::Profile& profile);

}  // namespace tephra::stream
