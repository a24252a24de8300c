#pragma once

#include <cstdint>
#include <vector>

#include "analysis/diff_significance.h"
#include "analysis/diff_tree.h"

namespace tephra::analysis {

// A function that is only before and one that is only after, which may be the same under another name.
struct DiffRename {
  uint32_t before = 0;  // rows of DiffTree::functions
  uint32_t after = 0;
  double score = 0;  // 0 to 1
};

// The calls of a function that are gone in one place and new in another.
struct DiffMove {
  uint32_t from = 0;  // rows of DiffTree::nodes
  uint32_t to = 0;
  double score = 0;
};

struct DiffMoves {
  std::vector<DiffRename> renames;  // best first
  std::vector<DiffMove> moves;
  // For each node: the caller whose total did not change while this child and others of its children did, in both
  // directions, by about as much. 0: none.
  std::vector<uint32_t> shifted_within;
};

// Proposals, from what calls what and how much; nothing of it changes the numbers.
DiffMoves diff_moves(const DiffTree& tree, const DiffTests& tests);

}  // namespace tephra::analysis
