#pragma once

#include <span>

#include "model/profile.h"

namespace tephra::model {

// All samples of several profiles. Equal rows of their tables become one; samples with the same stack, event, thread
// and labels are joined unless all profiles say when each was taken. Qualities are added; facts on which the profiles
// do not agree are left out. Names that recorders stored are not kept: look names up before.
Profile merge(std::span<const Profile> profiles);

}  // namespace tephra::model
