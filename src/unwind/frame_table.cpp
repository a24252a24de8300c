#include "unwind/frame_table.h"

#include <algorithm>

namespace tephra::unwind {
namespace {

constexpr tephra_frame_rule kNothing{};
static_assert(TEPHRA_CFA_NONE == 0);

}  // namespace

const tephra_frame_rule& FrameTable::find(uint64_t file_offset) const {
  if (blocks.empty() || file_offset > UINT32_MAX) return kNothing;
  const auto offset = static_cast<uint32_t>(file_offset);
  const auto after_block =
      std::upper_bound(blocks.begin(), blocks.end(), offset,
                       [](uint32_t wanted, const tephra_frame_block& block) { return wanted < block.start[0]; });
  if (after_block == blocks.begin()) return kNothing;
  const tephra_frame_block& block = *(after_block - 1);
  const auto* after = std::upper_bound(std::begin(block.start), std::end(block.start), offset);
  return rules[block.rule[after - std::begin(block.start) - 1]];
}

}  // namespace tephra::unwind
