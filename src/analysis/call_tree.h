#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/labels.h"
#include "model/profile.h"

namespace tephra::analysis {

// What stands below the outermost function of every stack.
enum class BaseFrame : uint8_t { kNone, kComm, kCommPid, kCommPidTid };

struct CallTreeOptions {
  BaseFrame base = BaseFrame::kComm;
  bool leaf_first = false;  // merge from the leaf: the root's children are what ran, their children who called it
  LabelOptions labels;
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

  const CallNode& root() const { return nodes[0]; }
  const CallName& name(const CallNode& node) const { return names[node.name]; }
};

// Linear in the stacks that samples use (leaf-first: in the sum of their depths), besides sorting the names.
CallTree call_tree(const model::Profile& profile, const CallTreeOptions& options = {});

}  // namespace tephra::analysis
