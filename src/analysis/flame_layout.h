#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "analysis/call_tree.h"

namespace tephra::analysis {

// What a layout needs to know of a node of any tree. Node 0 is the root; the nodes are in depth-first order, so parents
// come before children, and siblings in the order in which they are drawn. `total` is `self` and the totals of the
// children.
struct FlameNode {
  static constexpr uint64_t kBehindOthers = UINT64_MAX;
  uint32_t parent = 0;
  uint64_t self = 0;
  uint64_t total = 0;
  uint64_t x = kBehindOthers;  // where it begins; else behind its parent's own weight and its siblings
};

// One frame of a flame graph, in units of weight: the picture's scale is the caller's choice.
struct FlameRect {
  uint64_t x = 0;
  uint64_t width = 0;
  uint32_t depth = 0;  // row of FlameLayout::rows; the root's is 0
  uint32_t node = 0;   // which node of the tree it stands for
  bool operator==(const FlameRect&) const = default;
};

// Where a row of frames is.
struct FlameRow {
  uint32_t parent = 0;  // the row that its frames stand on; the root's is itself
  int32_t level = 0;    // how far from the root's row, to the one side or the other
  uint32_t lane = 0;    // pictures of several parts have free space between them
  bool operator==(const FlameRow&) const = default;
};

struct FlameLayout {
  uint64_t total = 0;            // the width of the whole picture
  bool time_axis = false;        // x is time in nanoseconds, the same for all lanes
  std::vector<FlameRow> rows;    // the root's first, parents before children
  std::vector<FlameRect> rects;  // the root first; those of a row from left to right
  size_t culled = 0;             // frames left out for being narrower than asked for

  uint32_t depth() const { return static_cast<uint32_t>(rows.size()); }
};

// Places every frame above its caller. A frame's own weight comes first, then its children in their order. Frames
// narrower than `min_width`, and so all above them, are left out and counted; frames without weight are left out
// likewise.
FlameLayout flame_layout(std::span<const FlameNode> nodes, uint64_t min_width = 0);
// The same of a call tree: siblings are sorted by name, so the order is that of sorted folded stacks, or stand where
// the order of samples puts them.
FlameLayout flame_layout(const CallTree& tree, Weight weight, uint64_t min_width = 0);

// Makes the picture as wide as `total` where that is more than it holds: the root grows, and what it does not hold
// stays empty.
void widen(FlameLayout& layout, uint64_t total);

}  // namespace tephra::analysis
