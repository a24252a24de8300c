#pragma once

#include <string_view>

#include "model/profile.h"

namespace tephra::analysis {

// Adds a frame that is no code, such as "[lock]", to a profile that is being changed.
model::FrameId add_frame(std::string_view name, model::Profile& profile);

}  // namespace tephra::analysis
