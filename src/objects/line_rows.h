#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "objects/loaded_code.h"

namespace tephra::objects {

// From an address on, code is of a line of a file; or, where `ends`, a run of code ends there.
struct LineRow {
  uint64_t address = 0;
  uint64_t file = 0;  // in the unit's table of files
  uint32_t line = 0;
  bool ends = false;
};

// The rows of one unit's line program, at an offset of .debug_line, by address: those of runs of code that is loaded.
// libdw tells the rows of all runs in one, and so mixes those of discarded functions with those of the code at the same
// addresses. Nothing when the program cannot be read here.
std::optional<std::vector<LineRow>> read_line_rows(base::Bytes section, uint64_t offset, const LoadedCode& code);

}  // namespace tephra::objects
