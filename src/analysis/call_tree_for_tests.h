#pragma once

#include <string>
#include <vector>

#include "analysis/call_tree.h"

namespace tephra::analysis {

// "label self/total" for every node in order, indented by its depth.
inline std::vector<std::string> outline(const CallTree& tree) {
  std::vector<std::string> lines;
  for (const CallNode& node : tree.nodes) {
    lines.push_back(std::string(node.depth, ' ') + tree.name(node).label + " " + std::to_string(node.self.count) + "/" +
                    std::to_string(node.total.count));
  }
  return lines;
}

}  // namespace tephra::analysis
