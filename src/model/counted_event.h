#pragma once

#include <optional>
#include <string_view>

#include "model/profile.h"

namespace tephra::model {

// The event whose counts are called `name` ("alloc_objects", "samples"), unless an event is called so itself. Nothing:
// there is none, or there are several.
std::optional<EventId> event_counted_as(const Profile& profile, std::string_view name);

// The profile with that event weighed by its counts, under the name `name`: its values are the counts.
Profile weighed_by_count(Profile profile, EventId event, std::string_view name);

}  // namespace tephra::model
