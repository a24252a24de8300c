#include "model/counted_event.h"

#include "model/event_units.h"

namespace tephra::model {
namespace {

constexpr std::string_view kSamples = "samples";

}  // namespace

std::optional<EventId> event_counted_as(const Profile& profile, std::string_view name) {
  std::optional<EventId> found;
  bool several = false;
  bool is_event = name.empty();
  for_each_id(profile.events, [&](EventId id) {
    const Event& event = profile.events[id];
    is_event = is_event || profile.text(event.name) == name;
    const std::string_view counted = event.counted ? profile.text(event.counted) : kSamples;
    if (event.uncounted || counted != name) return;
    several = found.has_value();
    found = id;
  });
  return is_event || several ? std::nullopt : found;
}

Profile weighed_by_count(Profile profile, EventId event, std::string_view name) {
  Samples& samples = profile.samples;
  for (size_t row = 0; row < samples.size(); ++row) {
    if (samples.event[row] == event) samples.value[row] = samples.count[row];
  }
  Event& counts = profile.events[event];
  counts.name = profile.strings.add(name);
  counts.unit = profile.strings.add(kCountUnit);
  return profile;
}

}  // namespace tephra::model
