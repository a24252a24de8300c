#include "model/shown_event.h"

#include <algorithm>

namespace tephra::model {

std::optional<EventId> shown_event(const Profile& profile) {
  const std::vector<EventId>& events = profile.samples.event;
  if (events.empty()) return std::nullopt;
  const std::string& wanted = profile.facts.default_event;
  const auto is_wanted = [&](EventId id) {
    const Event& event = profile.events[id];
    return profile.text(event.name) == wanted || profile.text(event.counted) == wanted;
  };
  const auto named = wanted.empty() ? events.end() : std::find_if(events.begin(), events.end(), is_wanted);
  return named != events.end() ? *named : *std::min_element(events.begin(), events.end());
}

}  // namespace tephra::model
