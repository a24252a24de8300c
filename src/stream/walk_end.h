#pragma once

#include <cstdint>

#include "abi/walk_end.h"

namespace tephra::stream {

// How a walk over a user stack ended, and whether a caller in it is a guess (TEPHRA_WALK_GUESSED).
struct WalkEnd {
  WalkEnd(tephra_walk_end ended = TEPHRA_WALK_NOT_TOLD, bool guessed = false) : how(ended), caller_guessed(guessed) {}

  // As recordings and profiles hold it. One of a later version tells us nothing.
  static WalkEnd of_byte(uint64_t byte) {
    const uint64_t how = byte & ~uint64_t{TEPHRA_WALK_GUESSED};
    if (how == TEPHRA_WALK_NOT_TOLD || how > TEPHRA_WALK_LAST_END) return {};
    return {static_cast<tephra_walk_end>(how), (byte & TEPHRA_WALK_GUESSED) != 0};
  }
  uint8_t byte() const { return static_cast<uint8_t>(how | (caller_guessed ? TEPHRA_WALK_GUESSED : 0)); }

  tephra_walk_end how;
  bool caller_guessed;
  bool operator==(const WalkEnd&) const = default;
};

}  // namespace tephra::stream
