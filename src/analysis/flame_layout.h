#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/call_tree.h"

namespace tephra::analysis {

// What the width of a frame stands for.
enum class Weight : uint8_t { kSamples, kValue };

constexpr uint64_t weight_of(const model::Totals& totals, Weight weight) {
  return weight == Weight::kSamples ? totals.count : totals.value;
}

// One frame of a flame graph, in units of weight: the picture's scale is the caller's choice.
struct FlameRect {
  uint64_t x = 0;
  uint64_t width = 0;
  uint32_t depth = 0;  // the root's is 0
  uint32_t node = 0;   // row of CallTree::nodes
  bool operator==(const FlameRect&) const = default;
};

struct FlameLayout {
  uint64_t total = 0;
  uint32_t depth = 0;            // rows in use
  std::vector<FlameRect> rects;  // depth-first, the root first
  size_t culled = 0;             // frames left out for being narrower than asked for
};

// Places every frame above its caller. A frame's own weight comes first, then its children by name, so that the order
// is that of sorted folded stacks. Frames narrower than `min_width`, and so all above them, are left out and counted;
// frames without weight are left out likewise.
FlameLayout flame_layout(const CallTree& tree, Weight weight, uint64_t min_width = 0);

}  // namespace tephra::analysis
