#pragma once

#include <algorithm>
#include <map>
#include <vector>

#include "unwind/frame_table.h"

namespace tephra::unwind {

// A table made by hand: rows by the file offset at which they begin.
class TestTable {
 public:
  TestTable& row(uint32_t start, const tephra_frame_rule& rule) {
    rows_[start] = rule;
    return *this;
  }
  const FrameTable* table() {
    rules_.clear();
    blocks_.clear();
    uint32_t count = 0;
    for (const auto& [start, rule] : rows_) {
      const uint32_t place = count++ % TEPHRA_FRAME_BLOCK_ROWS;
      if (place == 0) blocks_.emplace_back();
      std::fill(blocks_.back().start + place, blocks_.back().start + TEPHRA_FRAME_BLOCK_ROWS, start);
      std::fill(blocks_.back().rule + place, blocks_.back().rule + TEPHRA_FRAME_BLOCK_ROWS,
                static_cast<uint16_t>(rules_.size()));
      rules_.push_back(rule);
    }
    table_ = FrameTable{.blocks = blocks_, .rules = rules_, .rows = rows_.size()};
    return &table_;
  }

 private:
  std::map<uint32_t, tephra_frame_rule> rows_;
  std::vector<tephra_frame_rule> rules_;
  std::vector<tephra_frame_block> blocks_;
  FrameTable table_;
};

// CFA = stack pointer + offset, the return address below it, as of x86-64 code without frame pointers.
inline tephra_frame_rule test_rule_by_sp(int offset) {
  return {.cfa = TEPHRA_CFA_SP, .ra = TEPHRA_SAVED_AT_CFA, .cfa_offset = offset, .ra_offset = -8};
}
// After `push %rbp; mov %rsp,%rbp`.
inline tephra_frame_rule test_rule_by_fp() {
  return {.cfa = TEPHRA_CFA_FP,
          .fp = TEPHRA_SAVED_AT_CFA,
          .ra = TEPHRA_SAVED_AT_CFA,
          .cfa_offset = 16,
          .fp_offset = -16,
          .ra_offset = -8};
}

}  // namespace tephra::unwind
