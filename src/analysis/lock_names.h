#pragma once

#include <string_view>
#include <vector>

#include "model/profile.h"

namespace tephra::analysis {

// The lock that a set of labels names ("queue_mutex"), by set. Empty where there is none, or only its address is known:
// programs have too many of those to tell them apart. Views point into the profile.
std::vector<std::string_view> lock_names(const model::Profile& profile);

}  // namespace tephra::analysis
