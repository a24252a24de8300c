#pragma once

#include "model/profile.h"

namespace tephra::analysis {

// Gives the stacks of what threads do one frame more, innermost, that says what it was: the system call, "[connect]",
// "[read]". Profiles of something else stay as they are.
model::Profile with_activity_frames(model::Profile profile);

}  // namespace tephra::analysis
