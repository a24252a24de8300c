#include "analysis/sandwich.h"

#include <algorithm>
#include <numeric>

#include "analysis/call_tree_builder.h"

namespace tephra::analysis {
namespace {

constexpr uint32_t kOutside = UINT32_MAX;
// The lanes of the picture, from the top.
enum : uint32_t { kCallers, kFunction, kCallees };

std::vector<bool> names_that_are(const CallTree& tree, std::string_view function) {
  std::vector<bool> are(tree.names.size());
  for (size_t i = 0; i < tree.names.size(); ++i) {
    const CallName& name = tree.names[i];
    are[i] = name.kind != FrameKind::kBase && (name.label == function || without_mark(name.label) == function);
  }
  return are;
}

// The first of the names, for the roots.
uint32_t root_name(const std::vector<bool>& wanted) {
  const auto at = std::find(wanted.begin(), wanted.end(), true);
  return at == wanted.end() ? 0 : static_cast<uint32_t>(at - wanted.begin());
}

void add_callers(const CallTree& tree, uint32_t node, CallTreeBuilder& callers) {
  const model::Totals weight = tree.nodes[node].total;
  uint32_t at = 0;
  for (uint32_t up = tree.nodes[node].parent; up != 0; up = tree.nodes[up].parent) {
    at = callers.child(at, tree.nodes[up].name);
    callers.merge_place(at, place_of(tree.nodes[up]));
  }
  callers.add_self(at, weight);
}

void append(FlameLayout& layout, const FlameLayout& callers, uint32_t first_node) {
  const uint32_t rows = layout.depth();
  for (uint32_t row = 1; row < callers.depth(); ++row) {
    layout.rows.push_back({row == 1 ? 0 : rows + row - 2, -static_cast<int32_t>(row), kCallers});
  }
  for (const FlameRect& rect : callers.rects) {
    if (rect.depth != 0) layout.rects.push_back({rect.x, rect.width, rows + rect.depth - 1, first_node + rect.node});
  }
  layout.culled += callers.culled;
}

}  // namespace

Sandwich sandwich(const CallTree& tree, std::string_view function) {
  const std::vector<bool> wanted = names_that_are(tree, function);
  CallTreeBuilder callees(root_name(wanted));
  CallTreeBuilder callers(root_name(wanted));
  std::vector<uint32_t> inside(tree.nodes.size(), kOutside);  // the callee that a node became
  for (uint32_t i = 1; i < tree.nodes.size(); ++i) {
    const CallNode& node = tree.nodes[i];
    if (inside[node.parent] != kOutside) {
      inside[i] = callees.child(inside[node.parent], node.name);
    } else if (wanted[node.name]) {
      inside[i] = 0;
      add_callers(tree, i, callers);
      callers.merge_place(0, place_of(node));
    } else {
      continue;
    }
    callees.merge_place(inside[i], place_of(node));
    callees.add_self(inside[i], node.self);
  }
  std::vector<uint32_t> rank(tree.names.size());
  std::iota(rank.begin(), rank.end(), 0u);
  return {std::move(callees).finish(tree.names, rank), std::move(callers).finish(tree.names, rank)};
}

FlameLayout sandwich_layout(const Sandwich& sandwich, Weight weight, uint64_t min_width) {
  FlameLayout layout = flame_layout(sandwich.callees, weight, min_width);
  for (FlameRow& row : layout.rows) row.lane = row.level == 0 ? kFunction : kCallees;
  append(layout, flame_layout(sandwich.callers, weight, min_width),
         static_cast<uint32_t>(sandwich.callees.nodes.size()));
  return layout;
}

std::vector<std::string> function_names(const CallTree& tree) {
  std::vector<std::string> names;
  for (const CallName& name : tree.names) {
    if (name.kind != FrameKind::kBase) names.emplace_back(without_mark(name.label));
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace tephra::analysis
