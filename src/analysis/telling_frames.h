#pragma once

#include <vector>

#include "model/profile.h"

namespace tephra::analysis {

// For every stack of a symbolized profile the frame that tells where a program waits, or asks the kernel for something:
// the innermost one of its own code. Code of the C and C++ libraries counts only where there is no other, and the
// kernel's where there is no code of a program at all. None: the stack is empty.
std::vector<model::FrameId> telling_frames(const model::Profile& profile);

}  // namespace tephra::analysis
