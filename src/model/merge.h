#pragma once

#include <span>
#include <string_view>

#include "base/result.h"
#include "model/profile.h"

namespace tephra::model {

// How the stacks of a profile were taken whose parts do not agree in that.
inline constexpr std::string_view kEngineSeveral = "several ways";

// All samples of several profiles. Equal rows of their tables become one; samples with the same stack, event, thread
// and labels are joined unless all profiles say when each was taken. Events are joined by name, in a common unit (see
// JoinedEvents). Qualities are added; facts on which the profiles do not agree are left out. Names that recorders
// stored are not kept: look names up before. Fails where sums exceed 64 bits.
base::Result<Profile> merge(std::span<const Profile> profiles);

}  // namespace tephra::model
