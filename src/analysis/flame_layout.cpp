#include "analysis/flame_layout.h"

#include <algorithm>

namespace tephra::analysis {

FlameLayout flame_layout(std::span<const FlameNode> nodes, uint64_t min_width) {
  const uint64_t narrowest = std::max<uint64_t>(min_width, 1);
  FlameLayout layout;
  layout.total = nodes[0].total;
  struct Place {
    uint64_t next_x;  // where the next child begins
    uint32_t depth;
  };
  // Nodes are depth-first, so a node's place is known when it is reached, also below a node that was left out.
  std::vector<Place> places(nodes.size());
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    const FlameNode& node = nodes[i];
    Place& parent = places[node.parent];
    const uint64_t x = node.x != FlameNode::kBehindOthers ? node.x : i == 0 ? 0 : parent.next_x;
    const uint32_t depth = i == 0 ? 0 : parent.depth + 1;
    if (i != 0) parent.next_x += node.total;
    places[i] = {x + node.self, depth};
    if (i != 0 && node.total < narrowest) {
      ++layout.culled;
      continue;
    }
    layout.rects.push_back({x, node.total, depth, i});
    if (depth == layout.rows.size())
      layout.rows.push_back({depth == 0 ? 0 : depth - 1, static_cast<int32_t>(depth), 0});
  }
  return layout;
}

FlameLayout flame_layout(const CallTree& tree, Weight weight, uint64_t min_width) {
  std::vector<FlameNode> nodes;
  nodes.reserve(tree.nodes.size());
  for (const CallNode& node : tree.nodes) {
    nodes.push_back({node.parent, weight_of(node.self, weight), weight_of(node.total, weight)});
  }
  for (size_t i = 0; i < tree.begins.size(); ++i) nodes[i].x = weight_of(tree.begins[i], weight);
  FlameLayout layout = flame_layout(nodes, min_width);
  layout.culled += tree.left_out;
  return layout;
}

void widen(FlameLayout& layout, uint64_t total) {
  layout.total = std::max(layout.total, total);
  layout.rects.front().width = layout.total;
}

}  // namespace tephra::analysis
