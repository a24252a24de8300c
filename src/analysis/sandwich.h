#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analysis/call_tree.h"
#include "analysis/flame_layout.h"

namespace tephra::analysis {

// Everything about one function: who calls it and what it calls, summed over all places it is called from. A stack
// counts once, from the outermost occurrence of the function on: recursion is among the callees. Both trees have the
// function as their root, and the same total.
struct Sandwich {
  CallTree callees;
  CallTree callers;  // leaf-first: the root's children are the direct callers
};

// Of all nodes of `tree`, which must be root-first, whose name is `function`; marks such as `_[k]` need not be given.
// Without any, both trees are without weight.
Sandwich sandwich(const CallTree& tree, std::string_view function);

// The function's row in the middle, callers to the one side (negative levels) and callees to the other. The nodes of
// rectangles are rows of callees, and from callees.nodes.size() on rows of callers.
FlameLayout sandwich_layout(const Sandwich& sandwich, Weight weight, uint64_t min_width = 0);

// The functions of the tree (no threads), each name once.
std::vector<std::string> function_names(const CallTree& tree);

}  // namespace tephra::analysis
