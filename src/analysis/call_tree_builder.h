#pragma once

#include <cstdint>
#include <vector>

#include "analysis/call_tree.h"
#include "base/number_hash.h"

namespace tephra::analysis {

// Where the code of frames is, as a CallNode tells it.
struct CodePlace {
  model::MappingId mapping;
  model::StringId file;
  uint32_t first_line = 0;
  uint32_t last_line = 0;
};
inline CodePlace place_of(const model::Frame& frame) { return {frame.mapping, frame.file, frame.line, frame.line}; }
inline CodePlace place_of(const CallNode& node) { return {node.mapping, node.file, node.first_line, node.last_line}; }

// Grows a call tree node by node; node 0 is there from the beginning. Names are numbers until the tree is finished.
class CallTreeBuilder {
 public:
  explicit CallTreeBuilder(uint32_t root_name = 0);

  // That there will be about so many nodes.
  void reserve(size_t nodes) { nodes_.reserve(nodes); }

  // The child of that name, made where there is none yet.
  uint32_t child(uint32_t parent, uint32_t name);
  // A new child, also where there is one of that name. One tree is made with the one function or with the other.
  uint32_t new_child(uint32_t parent, uint32_t name);
  // Keeps of the node what all that was merged into it have in common.
  void merge_place(uint32_t node, const CodePlace& place);
  void add_self(uint32_t node, const model::Totals& weight);

  // How children of one parent are ordered.
  enum class Order { kByName, kAsMade };
  // The tree, totals summed up; `rank` says for each number of a name its row in `names`, and `place` becomes where
  // each node went.
  CallTree finish(std::vector<CallName> names, const std::vector<uint32_t>& rank, Order order = Order::kByName,
                  std::vector<uint32_t>* place = nullptr) &&;

 private:
  uint32_t& slot_of(uint32_t parent, uint32_t name);
  void grow();

  std::vector<CallNode> nodes_;  // parents before children, siblings in no order
  std::vector<bool> has_place_;
  const uint64_t seed_ = base::secret_seed();
  std::vector<uint32_t> slots_;  // nodes by parent and name: open addressing, 0 is free
};

}  // namespace tephra::analysis
