#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "analysis/wait_kind.h"
#include "model/profile.h"

namespace tephra::analysis {

// What threads waited for in one function of the program. Views point into the profile.
struct TopWait {
  WaitKind kind = WaitKind::kNone;  // kNone: it ran
  std::string_view lock;            // kLock: its name, where it has one
  std::string_view function;        // see top_waits; empty: the stack is not known
  std::string_view module;          // the path of its code object; empty where there is none
  bool kernel = false;
  uint64_t nanoseconds = 0;
  uint64_t count = 0;
};

// Where a symbolized profile of waits, or of wall-clock time, waited longest, at most `limit`: by kind, by the
// lock where its name is known, and by the innermost function of the program's own code, since the innermost of all is
// the scheduler's in every wait. Code of the C and C++ libraries counts as the program's only where there is no other.
std::vector<TopWait> top_waits(const model::Profile& profile, size_t limit);

}  // namespace tephra::analysis
