#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/labels.h"
#include "model/profile.h"

namespace tephra::analysis {

// What stands below the outermost function of every stack.
enum class BaseFrame : uint8_t { kNone, kComm, kCommPid, kCommPidTid };

// What the width of a frame stands for.
enum class Weight : uint8_t { kSamples, kValue };

constexpr uint64_t weight_of(const model::Totals& totals, Weight weight) {
  return weight == Weight::kSamples ? totals.count : totals.value;
}

struct CallTreeOptions {
  BaseFrame base = BaseFrame::kComm;
  bool leaf_first = false;  // merge from the leaf: the root's children are what ran, their children who called it
  LabelOptions labels;
  // For pictures, which do not show nodes that weigh less than this: what such a node calls may be left out, and is its
  // own weight then. Saves most of the work for large profiles.
  uint64_t least = 0;
  Weight least_of = Weight::kSamples;
  bool keep_leaves = false;  // fill CallTree::leaf_of_sample
};

struct CallNode {
  uint32_t parent = 0;        // the root's is itself
  uint32_t first_child = 0;   // 0: none
  uint32_t next_sibling = 0;  // 0: none
  uint32_t depth = 0;         // the root's is 0
  uint32_t name = 0;          // row of CallTree::names
  model::Totals self;
  model::Totals total;
  // Of the frames that were merged into this node: the code object and source file where all agree, else 0, and the
  // range of known lines in that file.
  model::MappingId mapping;
  model::StringId file;
  uint32_t first_line = 0;
  uint32_t last_line = 0;
};

// What frames are merged by.
struct CallName {
  std::string label;
  FrameKind kind = FrameKind::kNative;
  bool inlined = false;
  auto operator<=>(const CallName&) const = default;
};

// The stacks of a profile merged by name. Node 0 is the root, named "all"; nodes are in depth-first order, so parents
// come before children, and siblings are sorted by name. The sum of `self` over all nodes is totals(profile).
struct CallTree {
  std::vector<CallNode> nodes;
  std::vector<CallName> names;
  size_t left_out = 0;  // nodes below those that weigh less than asked for
  // Of trees in the order of samples: for each node, what was before it. Else empty.
  std::vector<model::Totals> begins;
  std::vector<uint32_t> leaf_of_sample;  // the node in whose `self` each row of the samples is; empty unless asked for

  const CallNode& root() const { return nodes[0]; }
  const CallName& name(const CallNode& node) const { return names[node.name]; }
};

// What is written for a thread at the base of its stacks.
std::string base_label(const model::Profile& profile, const model::Thread& thread, BaseFrame base);

// Linear in the stacks that samples use (leaf-first: in the sum of their depths), besides sorting the names.
CallTree call_tree(const model::Profile& profile, const CallTreeOptions& options = {});

// The same in the order of the samples: only neighbours are merged, as far as their stacks begin alike, and siblings
// stand in the order in which they were seen. What flame charts are made of where a profile has an order and no times.
CallTree ordered_call_tree(const model::Profile& profile, const CallTreeOptions& options = {});

}  // namespace tephra::analysis
