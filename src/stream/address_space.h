#pragma once

#include <cstdint>
#include <vector>

#include "model/id.h"

namespace tephra::stream {

// What was mapped at a range of addresses.
struct MappedRange {
  uint64_t start = 0;
  uint64_t end = 0;     // exclusive
  uint64_t offset = 0;  // what the mapping's addresses are at `start` (a file offset, or `start` itself)
  model::MappingId mapping;
};

// All states that address spaces had over time. A state is one number and never changes: mapping something gives a new
// state that shares most of its memory with the old one (a persistent search tree), so a fork costs nothing and any
// moment can be asked about later, from any thread.
class AddressSpaces {
 public:
  using State = uint32_t;
  static constexpr State kEmpty = 0;

  AddressSpaces();

  // The state after `range` was mapped over whatever was there before. With `reusable`, the caller promises that
  // `state` itself is not needed any more and was not shared since it was made, which saves memory.
  State map(State state, const MappedRange& range, bool reusable = false);
  // The state after [start, end) was unmapped.
  State unmap(State state, uint64_t start, uint64_t end);

  // The range that holds `address`, or null. The pointer lives until the next change.
  const MappedRange* find(State state, uint64_t address) const;
  // The last range that begins at `address` or before it, whether or not it reaches so far; or null.
  const MappedRange* find_below(State state, uint64_t address) const;

 private:
  struct Node {
    MappedRange range;
    uint32_t left = 0;
    uint32_t right = 0;
    uint32_t priority = 0;
    uint32_t edit = 0;  // the edit that made the node, and may still change it
  };
  struct Halves {
    uint32_t left;
    uint32_t right;
  };

  uint32_t make(const MappedRange& range);
  uint32_t editable(uint32_t node);
  // Ranges that start below `address`, and the others.
  Halves split(uint32_t node, uint64_t address);
  uint32_t join(uint32_t left, uint32_t right);
  uint32_t cut_last_at(uint32_t node, uint64_t address, MappedRange& cut_off);
  // What lies before and behind [start, end) in `state`.
  Halves without(State state, uint64_t start, uint64_t end);

  std::vector<Node> nodes_;
  uint32_t edit_ = 0;
};

}  // namespace tephra::stream
