#pragma once

#include <cstdint>
#include <vector>

#include "model/profile.h"

namespace tephra::formats {

// Sequences of frames, the outermost first, one behind the other.
struct FrameSequences {
  std::vector<model::FrameId> frames;
  std::vector<uint64_t> ends;  // by sequence: behind its last frame

  // Makes the frames added since the last call a sequence; its number.
  uint32_t close() {
    ends.push_back(frames.size());
    return static_cast<uint32_t>(ends.size() - 1);
  }
};

// Adds a stack for each sequence to a tree that holds no more than row 0, and says which. Sorts instead of looking
// every frame up, since stacks that share little would miss the cache at each of their frames. There must be less than
// 2^32 frames.
std::vector<model::StackId> add_stacks(model::Table<model::Stack, model::StackId>& stacks,
                                       const FrameSequences& sequences);

}  // namespace tephra::formats
