#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "abi/frame_rules.h"

namespace tephra::unwind {

// The call-frame rows of one code object; see abi/frame_rules.h. A view: the table that it is of keeps the memory.
struct FrameTable {
  std::span<const tephra_frame_block> blocks;
  std::span<const tephra_frame_rule> rules;  // rule[] of the blocks are places in it
  uint64_t rows = 0;
  uint64_t unsupported_rows = 0;
  // Where each block begins, for a search that touches few cache lines; empty: the blocks are searched.
  std::span<const uint32_t> block_starts = {};

  bool empty() const { return rows == 0; }
  // The rule at a file offset; TEPHRA_CFA_NONE's where nothing is described.
  const tephra_frame_rule& find(uint64_t file_offset) const;
};

}  // namespace tephra::unwind
