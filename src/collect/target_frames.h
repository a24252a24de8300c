#pragma once

#include <string>

#include "collect/target.h"

namespace tephra::collect {

// Whether the code of a target keeps frame pointers, as far as it can be told before it runs.
struct TargetFrames {
  bool known = false;   // something could be looked at
  bool kept = false;    // by all of it that matters
  std::string without;  // a file that does not keep them
};

// Looks at the program to be started and the libraries that it needs, a script's interpreter, or at what the processes
// have mapped; but not at leaf libraries (objects::is_leaf_library). Nothing is known about whole machines.
TargetFrames survey_target(const Target& target);

}  // namespace tephra::collect
