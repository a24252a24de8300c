#include "unwind/frame_table.h"

#include <algorithm>
#include <cstddef>

namespace tephra::unwind {
namespace {

constexpr tephra_frame_rule kNothing{};
static_assert(TEPHRA_CFA_NONE == 0);

// How many blocks begin at an offset or before it.
size_t blocks_up_to(const FrameTable& table, uint32_t offset) {
  if (table.block_starts.empty()) {
    const auto after =
        std::upper_bound(table.blocks.begin(), table.blocks.end(), offset,
                         [](uint32_t wanted, const tephra_frame_block& block) { return wanted < block.start[0]; });
    return static_cast<size_t>(after - table.blocks.begin());
  }
  // Without branches, which could not be predicted.
  const uint32_t* first = table.block_starts.data();
  size_t left = table.block_starts.size();
  while (left > 1) {
    const size_t half = left / 2;
    first += first[half - 1] <= offset ? half : 0;
    left -= half;
  }
  return static_cast<size_t>(first - table.block_starts.data()) + (*first <= offset ? 1 : 0);
}

}  // namespace

const tephra_frame_rule& FrameTable::find(uint64_t file_offset) const {
  if (blocks.empty() || file_offset > UINT32_MAX) return kNothing;
  const auto offset = static_cast<uint32_t>(file_offset);
  const size_t count = blocks_up_to(*this, offset);
  if (count == 0) return kNothing;
  const tephra_frame_block& block = blocks[count - 1];
  unsigned row = 0;
  for (const unsigned start : block.start) row += start <= offset ? 1 : 0;
  return rules[block.rule[row - 1]];
}

}  // namespace tephra::unwind
