#include "analysis/flame_layout.h"

#include <algorithm>

namespace tephra::analysis {

FlameLayout flame_layout(const CallTree& tree, Weight weight, uint64_t min_width) {
  const uint64_t narrowest = std::max<uint64_t>(min_width, 1);
  FlameLayout layout;
  layout.total = weight_of(tree.root().total, weight);
  // Where the next child of a node begins. Nodes are depth-first, so a node's place is known when it is reached, also
  // below a node that was left out.
  std::vector<uint64_t> next_x(tree.nodes.size());
  for (uint32_t i = 0; i < tree.nodes.size(); ++i) {
    const CallNode& node = tree.nodes[i];
    const uint64_t width = weight_of(node.total, weight);
    const uint64_t x = i == 0 ? 0 : next_x[node.parent];
    if (i != 0) next_x[node.parent] += width;
    next_x[i] = x + weight_of(node.self, weight);
    if (i != 0 && width < narrowest) {
      ++layout.culled;
      continue;
    }
    layout.rects.push_back({x, width, node.depth, i});
    layout.depth = std::max(layout.depth, node.depth + 1);
  }
  return layout;
}

}  // namespace tephra::analysis
