#include "analysis/call_tree_builder.h"

#include <algorithm>
#include <numeric>

namespace tephra::analysis {
namespace {

void sum_up(std::vector<CallNode>& nodes) {
  for (CallNode& node : nodes) node.total = node.self;
  for (size_t i = nodes.size(); --i > 0;) {
    nodes[nodes[i].parent].total.count += nodes[i].total.count;
    nodes[nodes[i].parent].total.value += nodes[i].total.value;
  }
}

// The nodes from the least name to the greatest: counted, since names are few numbers.
std::vector<uint32_t> nodes_by_name(const std::vector<CallNode>& nodes, size_t names) {
  std::vector<uint32_t> first(names + 1);
  for (const CallNode& node : nodes) ++first[node.name + 1];
  std::partial_sum(first.begin(), first.end(), first.begin());
  std::vector<uint32_t> order(nodes.size());
  for (uint32_t i = 0; i < nodes.size(); ++i) order[first[nodes[i].name]++] = i;
  return order;
}

std::vector<uint32_t> nodes_as_made(const std::vector<CallNode>& nodes) {
  std::vector<uint32_t> order(nodes.size());
  std::iota(order.begin(), order.end(), 0u);
  return order;
}

// Links children to parents. Takes the nodes from the last to the first, so that each becomes the first child of its
// parent.
void link_children(std::vector<CallNode>& nodes, const std::vector<uint32_t>& order) {
  for (auto at = order.rbegin(); at != order.rend(); ++at) {
    if (*at == 0) continue;
    CallNode& node = nodes[*at];
    node.next_sibling = nodes[node.parent].first_child;
    nodes[node.parent].first_child = *at;
  }
}

// The same tree with its nodes in depth-first order; `place` tells where each went.
std::vector<CallNode> depth_first(const std::vector<CallNode>& nodes, std::vector<uint32_t>& place) {
  std::vector<uint32_t> order;
  place.resize(nodes.size());
  std::vector<uint32_t> open{0};
  order.reserve(nodes.size());
  while (!open.empty()) {
    const uint32_t node = open.back();
    open.pop_back();
    place[node] = static_cast<uint32_t>(order.size());
    order.push_back(node);
    if (node != 0 && nodes[node].next_sibling != 0) open.push_back(nodes[node].next_sibling);
    if (nodes[node].first_child != 0) open.push_back(nodes[node].first_child);
  }
  std::vector<CallNode> out;
  out.reserve(nodes.size());
  for (const uint32_t node : order) {
    CallNode& to = out.emplace_back(nodes[node]);
    to.parent = place[to.parent];
    to.first_child = place[to.first_child];
    to.next_sibling = place[to.next_sibling];
  }
  return out;
}

}  // namespace

CallTreeBuilder::CallTreeBuilder(uint32_t root_name) : nodes_{{.name = root_name}}, has_place_(1), slots_(1024) {}

uint32_t& CallTreeBuilder::slot_of(uint32_t parent, uint32_t name) {
  const size_t mask = slots_.size() - 1;
  for (size_t at = base::mix(parent ^ seed_, name ^ seed_);; ++at) {
    uint32_t& slot = slots_[at & mask];
    if (slot == 0 || (nodes_[slot].parent == parent && nodes_[slot].name == name)) return slot;
  }
}

void CallTreeBuilder::grow() {
  slots_.assign(slots_.size() * 4, 0);
  for (uint32_t i = 1; i < nodes_.size(); ++i) slot_of(nodes_[i].parent, nodes_[i].name) = i;
}

uint32_t CallTreeBuilder::child(uint32_t parent, uint32_t name) {
  if (nodes_.size() * 2 >= slots_.size()) grow();
  uint32_t& slot = slot_of(parent, name);
  if (slot == 0) slot = new_child(parent, name);
  return slot;
}

uint32_t CallTreeBuilder::new_child(uint32_t parent, uint32_t name) {
  nodes_.push_back({.parent = parent, .depth = nodes_[parent].depth + 1, .name = name});
  has_place_.push_back(false);
  return static_cast<uint32_t>(nodes_.size() - 1);
}

void CallTreeBuilder::merge_place(uint32_t node, const CodePlace& place) {
  CallNode& to = nodes_[node];
  if (!has_place_[node]) {
    has_place_[node] = true;
    to.mapping = place.mapping;
    to.file = place.file;
    to.first_line = place.first_line;
    to.last_line = place.last_line;
    return;
  }
  if (to.mapping != place.mapping) to.mapping = {};
  if (to.file != place.file) {
    to.file = {};
    to.first_line = to.last_line = 0;
  } else if (to.file && place.first_line != 0) {
    to.first_line = to.first_line == 0 ? place.first_line : std::min(to.first_line, place.first_line);
    to.last_line = std::max(to.last_line, place.last_line);
  }
}

void CallTreeBuilder::add_self(uint32_t node, const model::Totals& weight) {
  nodes_[node].self.count += weight.count;
  nodes_[node].self.value += weight.value;
}

CallTree CallTreeBuilder::finish(std::vector<CallName> names, const std::vector<uint32_t>& rank, Order order,
                                 std::vector<uint32_t>* place) && {
  sum_up(nodes_);
  for (CallNode& node : nodes_) node.name = rank[node.name];
  link_children(nodes_, order == Order::kByName ? nodes_by_name(nodes_, names.size()) : nodes_as_made(nodes_));
  std::vector<uint32_t> places;
  CallTree tree{.nodes = depth_first(nodes_, places), .names = std::move(names)};
  if (place != nullptr) *place = std::move(places);
  return tree;
}

}  // namespace tephra::analysis
