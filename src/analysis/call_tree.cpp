#include "analysis/call_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>

namespace tephra::analysis {
namespace {

constexpr uint32_t kUnset = UINT32_MAX;

// Every name once, in the order of first use. Frames of one function share the work.
class Names {
 public:
  Names(const model::Profile& profile, const LabelOptions& options)
      : profile_(profile), options_(options), of_frame_(profile.frames.size(), kUnset) {
    add(CallName{"all", FrameKind::kBase, false});
  }

  uint32_t add(CallName name) {
    return ids_.try_emplace(std::move(name), static_cast<uint32_t>(ids_.size())).first->second;
  }

  uint32_t of(model::FrameId frame) {
    uint32_t& id = of_frame_[frame.value];
    if (id == kUnset) id = look_up(frame);
    return id;
  }

  // The names sorted, and for each id given so far its place among them.
  std::vector<CallName> sorted(std::vector<uint32_t>& rank) const {
    std::vector<CallName> all;
    all.reserve(ids_.size());
    rank.resize(ids_.size());
    for (const auto& [name, id] : ids_) {
      rank[id] = static_cast<uint32_t>(all.size());
      all.push_back(name);
    }
    return all;
  }

 private:
  // Only the label of a frame without a function depends on more than function, kind and inlining.
  uint32_t look_up(model::FrameId frame) {
    const FrameKind kind = frame_kind(profile_, frame);
    const bool inlined = is_inlined(profile_, frame);
    const auto label = [&] { return frame_label(profile_, frame, options_); };
    if (profile_.function_name(frame).empty()) return add({label(), kind, inlined});
    const uint64_t key = static_cast<uint64_t>(profile_.frames[frame].function.value) << 8 |
                         static_cast<uint64_t>(kind) << 1 | static_cast<uint64_t>(inlined);
    const auto [at, fresh] = of_function_.try_emplace(key);
    if (fresh) at->second = add({label(), kind, inlined});
    return at->second;
  }

  const model::Profile& profile_;
  const LabelOptions& options_;
  std::map<CallName, uint32_t> ids_;
  std::unordered_map<uint64_t, uint32_t> of_function_;
  std::vector<uint32_t> of_frame_;
};

// The nodes in the order of their making: parents before children, siblings in no order.
class Grower {
 public:
  Grower() { nodes_.emplace_back(); }

  uint32_t child(uint32_t parent, uint32_t name) {
    const uint64_t key = static_cast<uint64_t>(parent) << 32 | name;
    const auto [at, fresh] = children_.try_emplace(key, static_cast<uint32_t>(nodes_.size()));
    if (fresh) {
      nodes_.push_back({.parent = parent, .depth = nodes_[parent].depth + 1, .name = name});
      seen_frame_.resize(nodes_.size());
    }
    return at->second;
  }

  // Notes where the frame's code is, and keeps of the node what all its frames have in common.
  void merge_place(uint32_t node, const model::Frame& frame) {
    CallNode& to = nodes_[node];
    if (!seen_frame_[node]) {
      seen_frame_[node] = true;
      to.mapping = frame.mapping;
      to.file = frame.file;
      to.first_line = to.last_line = frame.line;
      return;
    }
    if (to.mapping != frame.mapping) to.mapping = {};
    if (to.file != frame.file) {
      to.file = {};
      to.first_line = to.last_line = 0;
    } else if (to.file && frame.line != 0) {
      to.first_line = to.first_line == 0 ? frame.line : std::min(to.first_line, frame.line);
      to.last_line = std::max(to.last_line, frame.line);
    }
  }

  void add_self(uint32_t node, const model::Totals& weight) {
    nodes_[node].self.count += weight.count;
    nodes_[node].self.value += weight.value;
  }

  std::vector<CallNode> take() {
    for (CallNode& node : nodes_) node.total = node.self;
    for (size_t i = nodes_.size(); --i > 0;) {
      nodes_[nodes_[i].parent].total.count += nodes_[i].total.count;
      nodes_[nodes_[i].parent].total.value += nodes_[i].total.value;
    }
    return std::move(nodes_);
  }

 private:
  std::vector<CallNode> nodes_;
  std::vector<bool> seen_frame_ = std::vector<bool>(1);
  std::unordered_map<uint64_t, uint32_t> children_;
};

std::string base_label(const model::Profile& profile, const model::Thread& thread, BaseFrame base) {
  auto comm = profile.text(thread.comm);
  if (comm.empty()) comm = "[unknown thread]";
  switch (base) {
    case BaseFrame::kCommPid:
      return fmt::format("{}-{}", comm, thread.pid);
    case BaseFrame::kCommPidTid:
      return fmt::format("{}-{}/{}", comm, thread.pid, thread.tid);
    default:
      return std::string(comm);
  }
}

// For every thread the name at the base of its stacks; 0 (the root's) where none is wanted, and for samples of no known
// thread, as imported stacks have them: those bring their own base.
std::vector<uint32_t> base_names(const model::Profile& profile, BaseFrame base, Names& names) {
  std::vector<uint32_t> of_thread(profile.threads.size(), 0);
  if (base == BaseFrame::kNone) return of_thread;
  model::for_each_id(profile.threads, [&](model::ThreadId id) {
    const model::Thread& thread = profile.threads[id];
    if (!thread.comm && thread.pid < 0 && thread.tid < 0) return;
    of_thread[id.value] = names.add({base_label(profile, thread, base), FrameKind::kBase, false});
  });
  return of_thread;
}

// The samples in groups of one base name, each group in its order in the profile.
std::vector<uint32_t> samples_by_base(const model::Samples& samples, const std::vector<uint32_t>& base_of_thread) {
  std::vector<uint32_t> order(samples.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return base_of_thread[samples.thread[a].value] < base_of_thread[samples.thread[b].value];
  });
  return order;
}

// Grows the tree under one base node after the other. Stacks of one base share their prefixes: each row of the stack
// table is looked up once for each base that uses it.
class RootFirst {
 public:
  RootFirst(const model::Profile& profile, Names& names, Grower& grower)
      : profile_(profile), names_(names), grower_(grower), node_of_(profile.stacks.size(), kUnset) {}

  void add(uint32_t base, model::StackId stack, const model::Totals& weight) {
    if (base != base_) start(base);
    grower_.add_self(node(stack), weight);
  }

 private:
  void start(uint32_t base) {
    for (const model::StackId stack : touched_) node_of_[stack.value] = kUnset;
    touched_.clear();
    base_ = base;
    set({}, base == 0 ? 0 : grower_.child(0, base));
  }

  uint32_t node(model::StackId stack) {
    while (node_of_[stack.value] == kUnset) {
      path_.push_back(stack);
      stack = profile_.stacks[stack].parent;
    }
    uint32_t at = node_of_[stack.value];
    for (; !path_.empty(); path_.pop_back()) {
      const model::FrameId frame = profile_.stacks[path_.back()].frame;
      at = grower_.child(at, names_.of(frame));
      grower_.merge_place(at, profile_.frames[frame]);
      set(path_.back(), at);
    }
    return at;
  }

  void set(model::StackId stack, uint32_t node) {
    node_of_[stack.value] = node;
    touched_.push_back(stack);
  }

  const model::Profile& profile_;
  Names& names_;
  Grower& grower_;
  std::vector<uint32_t> node_of_;
  std::vector<model::StackId> touched_;
  std::vector<model::StackId> path_;
  uint32_t base_ = kUnset;
};

// The base ends up at the far end of every path, as the outermost caller.
void add_leaf_first(const model::Profile& profile, Names& names, Grower& grower, uint32_t base, model::StackId stack,
                    const model::Totals& weight) {
  uint32_t at = 0;
  for (; stack; stack = profile.stacks[stack].parent) {
    const model::FrameId frame = profile.stacks[stack].frame;
    at = grower.child(at, names.of(frame));
    grower.merge_place(at, profile.frames[frame]);
  }
  if (base != 0) at = grower.child(at, base);
  grower.add_self(at, weight);
}

void grow(const model::Profile& profile, const CallTreeOptions& options, Names& names, Grower& grower) {
  const model::Samples& samples = profile.samples;
  const auto base_of_thread = base_names(profile, options.base, names);
  RootFirst root_first(profile, names, grower);
  for (const uint32_t i : samples_by_base(samples, base_of_thread)) {
    const uint32_t base = base_of_thread[samples.thread[i].value];
    const model::Totals weight{samples.count[i], samples.value[i]};
    if (options.leaf_first) {
      add_leaf_first(profile, names, grower, base, samples.stack[i], weight);
    } else {
      root_first.add(base, samples.stack[i], weight);
    }
  }
}

// Links children to parents, siblings in the order of their names. Takes the nodes from the greatest name to the least,
// so that each becomes the first child of its parent.
void link_children(std::vector<CallNode>& nodes) {
  std::vector<uint32_t> order(nodes.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return nodes[a].name > nodes[b].name; });
  for (const uint32_t i : order) {
    if (i == 0) continue;
    nodes[i].next_sibling = nodes[nodes[i].parent].first_child;
    nodes[nodes[i].parent].first_child = i;
  }
}

// The same tree with its nodes in depth-first order.
std::vector<CallNode> depth_first(const std::vector<CallNode>& nodes) {
  std::vector<uint32_t> order;
  std::vector<uint32_t> place(nodes.size());
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

CallTree call_tree(const model::Profile& profile, const CallTreeOptions& options) {
  Names names(profile, options.labels);
  Grower grower;
  grow(profile, options, names, grower);

  CallTree tree;
  std::vector<uint32_t> rank;
  tree.names = names.sorted(rank);
  auto nodes = grower.take();
  for (CallNode& node : nodes) node.name = rank[node.name];
  link_children(nodes);
  tree.nodes = depth_first(nodes);
  return tree;
}

}  // namespace tephra::analysis
