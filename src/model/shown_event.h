#pragma once

#include <optional>

#include "model/profile.h"

namespace tephra::model {

// Which event to look at first: the one that the profile names, else the first, in the order they were asked for, that
// has samples. Nothing: there are no samples.
std::optional<EventId> shown_event(const Profile& profile);

}  // namespace tephra::model
