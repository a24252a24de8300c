#include "stream/address_space.h"

#include "base/hash.h"

namespace tephra::stream {

AddressSpaces::AddressSpaces() { nodes_.emplace_back(); }

uint32_t AddressSpaces::make(const MappedRange& range) {
  const auto index = static_cast<uint32_t>(nodes_.size());
  // Priorities come from a hash, so equal inputs build equal trees.
  nodes_.push_back(Node{range, 0, 0, static_cast<uint32_t>(base::mix(index, range.start)), edit_});
  return index;
}

uint32_t AddressSpaces::editable(uint32_t node) {
  if (nodes_[node].edit == edit_) return node;
  nodes_.push_back(nodes_[node]);
  nodes_.back().edit = edit_;
  return static_cast<uint32_t>(nodes_.size() - 1);
}

AddressSpaces::Halves AddressSpaces::split(uint32_t node, uint64_t address) {
  if (node == 0) return {0, 0};
  node = editable(node);
  if (nodes_[node].range.start < address) {
    const Halves below = split(nodes_[node].right, address);
    nodes_[node].right = below.left;
    return {node, below.right};
  }
  const Halves below = split(nodes_[node].left, address);
  nodes_[node].left = below.right;
  return {below.left, node};
}

uint32_t AddressSpaces::join(uint32_t left, uint32_t right) {
  if (left == 0) return right;
  if (right == 0) return left;
  if (nodes_[left].priority >= nodes_[right].priority) {
    left = editable(left);
    const uint32_t joined = join(nodes_[left].right, right);
    nodes_[left].right = joined;
    return left;
  }
  right = editable(right);
  const uint32_t joined = join(left, nodes_[right].left);
  nodes_[right].left = joined;
  return right;
}

// Shortens the last range of a tree so that it ends at `address`, and tells what was cut off.
uint32_t AddressSpaces::cut_last_at(uint32_t node, uint64_t address, MappedRange& cut_off) {
  cut_off = {};
  uint32_t last = node;
  while (last != 0 && nodes_[last].right != 0) last = nodes_[last].right;
  if (last == 0 || nodes_[last].range.end <= address) return node;
  node = editable(node);
  last = node;
  while (nodes_[last].right != 0) {
    const uint32_t next = editable(nodes_[last].right);
    nodes_[last].right = next;
    last = next;
  }
  MappedRange& range = nodes_[last].range;
  cut_off = {address, range.end, range.offset + (address - range.start), range.mapping};
  range.end = address;
  return node;
}

AddressSpaces::Halves AddressSpaces::without(State state, uint64_t start, uint64_t end) {
  const Halves at_start = split(state, start);
  MappedRange tail;
  const uint32_t before = cut_last_at(at_start.left, start, tail);
  const Halves at_end = split(at_start.right, end);
  // Ranges do not overlap, so only one can reach past `end`: the one that began before `start`, or the last inner one.
  MappedRange inner_tail;
  cut_last_at(at_end.left, end, inner_tail);
  if (inner_tail.end > end) tail = inner_tail;
  if (tail.end <= end) return {before, at_end.right};
  tail = {end, tail.end, tail.offset + (end - tail.start), tail.mapping};
  return {before, join(make(tail), at_end.right)};
}

AddressSpaces::State AddressSpaces::map(State state, const MappedRange& range, bool reusable) {
  if (range.start >= range.end) return state;
  if (!reusable) ++edit_;
  const Halves around = without(state, range.start, range.end);
  return join(join(around.left, make(range)), around.right);
}

AddressSpaces::State AddressSpaces::unmap(State state, uint64_t start, uint64_t end) {
  if (start >= end) return state;
  ++edit_;
  const Halves around = without(state, start, end);
  return join(around.left, around.right);
}

const MappedRange* AddressSpaces::find(State state, uint64_t address) const {
  for (uint32_t at = state; at != 0;) {
    const Node& node = nodes_[at];
    if (address < node.range.start) {
      at = node.left;
    } else if (address < node.range.end) {
      return &node.range;
    } else {
      at = node.right;
    }
  }
  return nullptr;
}

const MappedRange* AddressSpaces::find_below(State state, uint64_t address) const {
  const MappedRange* below = nullptr;
  for (uint32_t at = state; at != 0;) {
    const Node& node = nodes_[at];
    const bool begins_before = node.range.start <= address;
    if (begins_before) below = &node.range;
    at = begins_before ? node.right : node.left;
  }
  return below;
}

}  // namespace tephra::stream
