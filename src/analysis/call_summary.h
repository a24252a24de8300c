#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "model/profile.h"

namespace tephra::analysis {

// What a profile tells of system calls (stream/syscall_reading.h). Views point into the profile.
struct CallSummary {
  struct Row {
    std::string_view call;      // empty: of several, whose stacks could not be kept
    std::string_view function;  // of the program's own code (telling_frames.h); empty: the stack is not known
    std::string_view module;    // the path of its code object; empty where there is none
    uint64_t count = 0;
    uint64_t nanoseconds = 0;
  };
  std::vector<Row> rows;  // the most calls first
  uint64_t count = 0;
  uint64_t nanoseconds = 0;
};

// `limit`: at most so many rows; the sums are of all. Samples of other events are not looked at.
CallSummary call_summary(const model::Profile& profile, size_t limit);

}  // namespace tephra::analysis
