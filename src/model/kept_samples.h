#pragma once

#include <vector>

#include "model/profile.h"

namespace tephra::model {

// Leaves out the samples whose place in `kept` is 0, in every column. `kept` has one entry a sample.
void keep_samples(const std::vector<char>& kept, Samples& samples);

// Of each sample, whether it is of an event of this name.
std::vector<char> samples_of(const Profile& profile, std::string_view event);

}  // namespace tephra::model
