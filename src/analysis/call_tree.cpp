#include "analysis/call_tree.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "analysis/call_names.h"
#include "analysis/call_tree_builder.h"

namespace tephra::analysis {
namespace {

constexpr uint32_t kUnset = UINT32_MAX;

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
  RootFirst(const model::Profile& profile, CallNames& names, CallTreeBuilder& grower)
      : profile_(profile), names_(names), grower_(grower), node_of_(profile.stacks.size(), kUnset) {}

  // Returns the node that got the weight.
  uint32_t add(uint32_t base, model::StackId stack, const model::Totals& weight) {
    if (base != base_) start(base);
    const uint32_t leaf = node(stack);
    grower_.add_self(leaf, weight);
    return leaf;
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
      grower_.merge_place(at, place_of(profile_.frames[frame]));
      set(path_.back(), at);
    }
    return at;
  }

  void set(model::StackId stack, uint32_t node) {
    node_of_[stack.value] = node;
    touched_.push_back(stack);
  }

  const model::Profile& profile_;
  CallNames& names_;
  CallTreeBuilder& grower_;
  std::vector<uint32_t> node_of_;
  std::vector<model::StackId> touched_;
  std::vector<model::StackId> path_;
  uint32_t base_ = kUnset;
};

// The base ends up at the far end of every path, as the outermost caller. Returns the node that got the weight.
uint32_t add_leaf_first(const model::Profile& profile, CallNames& names, CallTreeBuilder& grower, uint32_t base,
                        model::StackId stack, const model::Totals& weight) {
  uint32_t at = 0;
  for (; stack; stack = profile.stacks[stack].parent) {
    const model::FrameId frame = profile.stacks[stack].frame;
    at = grower.child(at, names.of(frame));
    grower.merge_place(at, place_of(profile.frames[frame]));
  }
  if (base != 0) at = grower.child(at, base);
  grower.add_self(at, weight);
  return at;
}

// Returns the node of each sample, where those are wanted.
std::vector<uint32_t> grow(const model::Profile& profile, const CallTreeOptions& options,
                           const std::vector<uint32_t>& base_of_thread, CallNames& names, CallTreeBuilder& grower) {
  const model::Samples& samples = profile.samples;
  RootFirst root_first(profile, names, grower);
  std::vector<uint32_t> leaves(options.keep_leaves ? samples.size() : 0);
  for (const uint32_t i : samples_by_base(samples, base_of_thread)) {
    const uint32_t base = base_of_thread[samples.thread[i].value];
    const model::Totals weight{samples.count[i], samples.value[i]};
    const uint32_t leaf = options.leaf_first ? add_leaf_first(profile, names, grower, base, samples.stack[i], weight)
                                             : root_first.add(base, samples.stack[i], weight);
    if (options.keep_leaves) leaves[i] = leaf;
  }
  return leaves;
}

// Whether all samples stand on one base, and which.
std::optional<uint32_t> only_base(const model::Samples& samples, const std::vector<uint32_t>& base_of_thread) {
  std::optional<uint32_t> base;
  for (const model::ThreadId thread : samples.thread) {
    const uint32_t found = base_of_thread[thread.value];
    if (base.value_or(found) != found) return std::nullopt;
    base = found;
  }
  return base;
}

// Whether no two frames have the same name, as in folded stacks.
bool names_differ(const model::Profile& profile, CallNames& names) {
  std::vector<bool> seen;
  for (uint32_t frame = 1; frame < profile.frames.size(); ++frame) {
    const uint32_t name = names.of(model::FrameId{frame});
    if (name >= seen.size()) seen.resize(2 * size_t{name} + 64);
    if (seen[name]) return false;
    seen[name] = true;
  }
  return true;
}

// Where frames have names of their own, the rows of the stack table are the nodes: nothing is merged, so it is known
// beforehand what each weighs.
class RowsAsNodes {
 public:
  RowsAsNodes(const model::Profile& profile, const CallTreeOptions& options)
      : profile_(profile), options_(options), rows_(profile.stacks.size()) {
    const model::Samples& samples = profile.samples;
    for (size_t i = 0; i < samples.size(); ++i) {
      Row& row = rows_[samples.stack[i].value];
      row.used = true;
      row.total += weight_of({samples.count[i], samples.value[i]}, options.least_of);
    }
    for (uint32_t i = static_cast<uint32_t>(rows_.size()); --i > 0;) {
      if (!rows_[i].used) continue;
      Row& parent = rows_[profile.stacks[model::StackId{i}].parent.value];
      parent.used = true;
      parent.total += rows_[i].total;
    }
  }

  // Returns how many nodes were left out.
  size_t grow(uint32_t base, CallNames& names, CallTreeBuilder& grower) {
    size_t left_out = 0;
    if (options_.least == 0) grower.reserve(rows_.size() + 1);
    rows_[0].node = base == 0 ? 0 : grower.child(0, base);
    for (uint32_t i = 1; i < rows_.size(); ++i) {
      Row& row = rows_[i];
      if (!row.used) continue;
      const model::Stack& stack = profile_.stacks[model::StackId{i}];
      const Row& parent = rows_[stack.parent.value];
      row.closed = parent.closed || row.total < options_.least;
      if (parent.closed) {
        row.node = parent.node;
        ++left_out;
        continue;
      }
      row.node = grower.new_child(parent.node, names.of(stack.frame));
      grower.merge_place(row.node, place_of(profile_.frames[stack.frame]));
    }
    const model::Samples& samples = profile_.samples;
    for (size_t i = 0; i < samples.size(); ++i) {
      grower.add_self(rows_[samples.stack[i].value].node, {samples.count[i], samples.value[i]});
    }
    return left_out;
  }

 private:
  struct Row {
    uint64_t total = 0;
    uint32_t node = 0;
    bool used = false;
    bool closed = false;  // what it calls is left out
  };
  const model::Profile& profile_;
  const CallTreeOptions& options_;
  std::vector<Row> rows_;
};

// A stack as the names and places of a path from the root.
struct Step {
  uint32_t name;
  CodePlace place;
};
void steps_of(const model::Profile& profile, model::StackId stack, uint32_t base, bool leaf_first, CallNames& names,
              std::vector<Step>& path) {
  path.clear();
  for (; stack; stack = profile.stacks[stack].parent) {
    const model::FrameId frame = profile.stacks[stack].frame;
    path.push_back({names.of(frame), place_of(profile.frames[frame])});
  }
  if (base != 0) path.push_back({base, {}});
  if (!leaf_first) std::reverse(path.begin(), path.end());
}

}  // namespace

CallTree call_tree(const model::Profile& profile, const CallTreeOptions& options) {
  CallNames names(profile, options.labels);
  CallTreeBuilder grower;
  const auto base_of_thread = names.of_threads(options.base);
  const bool may_be_rows = !options.leaf_first && !options.keep_leaves;
  const auto base = may_be_rows ? only_base(profile.samples, base_of_thread) : std::nullopt;
  size_t left_out = 0;
  std::vector<uint32_t> leaves;
  if (base && names_differ(profile, names)) {
    left_out = RowsAsNodes(profile, options).grow(*base, names, grower);
  } else {
    leaves = grow(profile, options, base_of_thread, names, grower);
  }
  std::vector<uint32_t> rank;
  auto sorted = names.take_sorted(rank);
  std::vector<uint32_t> place;
  CallTree tree = std::move(grower).finish(std::move(sorted), rank, CallTreeBuilder::Order::kByName, &place);
  for (uint32_t& leaf : leaves) leaf = place[leaf];
  tree.leaf_of_sample = std::move(leaves);
  tree.left_out = left_out;
  return tree;
}

// Of each stack, what it has in common with the one before stays as it is.
CallTree ordered_call_tree(const model::Profile& profile, const CallTreeOptions& options) {
  CallNames names(profile, options.labels);
  CallTreeBuilder grower;
  const auto base_of_thread = names.of_threads(options.base);
  std::vector<Step> path;
  std::vector<uint32_t> open;  // the nodes of the stack before, from below the root on
  std::vector<uint32_t> open_names;
  model::Totals before;
  std::vector<model::Totals> begins(1);
  const model::Samples& samples = profile.samples;
  for (size_t i = 0; i < samples.size(); ++i) {
    steps_of(profile, samples.stack[i], base_of_thread[samples.thread[i].value], options.leaf_first, names, path);
    size_t same = 0;
    while (same < path.size() && same < open.size() && path[same].name == open_names[same]) ++same;
    open.resize(same);
    open_names.resize(same);
    for (size_t depth = same; depth < path.size(); ++depth) {
      open.push_back(grower.new_child(depth == 0 ? 0 : open[depth - 1], path[depth].name));
      open_names.push_back(path[depth].name);
      begins.push_back(before);
    }
    for (size_t depth = 0; depth < path.size(); ++depth) grower.merge_place(open[depth], path[depth].place);
    grower.add_self(open.empty() ? 0 : open.back(), {samples.count[i], samples.value[i]});
    before.count += samples.count[i];
    before.value += samples.value[i];
  }
  std::vector<uint32_t> rank;
  auto sorted = names.take_sorted(rank);
  CallTree tree = std::move(grower).finish(std::move(sorted), rank, CallTreeBuilder::Order::kAsMade);
  tree.begins = std::move(begins);  // nodes were made depth-first
  return tree;
}

}  // namespace tephra::analysis
