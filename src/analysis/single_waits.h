#pragma once

#include <cstdint>
#include <vector>

#include "analysis/wait_kind.h"
#include "model/profile.h"

namespace tephra::analysis {

// A wait that is known by itself, not in a sum of several: when it was, and for what.
struct SingleWait {
  uint32_t row = 0;  // of the profile's samples
  uint64_t begin = 0;
  uint64_t length = 0;
  WaitKind kind = WaitKind::kOther;
};

// Those of a profile whose samples have times, in the order of its rows.
std::vector<SingleWait> single_waits(const model::Profile& profile);

}  // namespace tephra::analysis
