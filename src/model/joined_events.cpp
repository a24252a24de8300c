#include "model/joined_events.h"

#include <algorithm>
#include <set>

#include "model/event_units.h"

namespace tephra::model {
namespace {

// A name that none of `taken` is, which it joins then: by the unit where that is enough.
std::string own_name(const std::string& name, std::string_view unit, std::set<std::string>& taken) {
  std::string own = name;
  if (taken.contains(own) && !unit.empty()) own += "_" + std::string(unit);
  const std::string stem = own;
  for (size_t number = 2; taken.contains(own); ++number) own = stem + "#" + std::to_string(number);
  taken.insert(own);
  return own;
}

}  // namespace

JoinedEvents::JoinedEvents(std::span<const Profile> profiles, ProfileAssembler& to) {
  std::vector<std::vector<size_t>> joined_as;
  for (const Profile& profile : profiles) {
    std::vector<size_t>& of_profile = joined_as.emplace_back();
    for (const Event& event : profile.events) of_profile.push_back(join(profile, event));
  }
  const std::vector<EventId> ids = add_to(to);
  for (size_t i = 0; i < profiles.size(); ++i) {
    std::vector<Place>& places = places_.emplace_back();
    for_each_id(profiles[i].events, [&](EventId id) {
      const size_t joined = joined_as[i][id.value];
      const std::string_view unit = profiles[i].text(profiles[i].events[id].unit);
      const bool scaled = unit != joined_[joined].unit;
      places.push_back({ids[joined], scaled ? common_unit(unit).factor : 1});
    });
  }
}

size_t JoinedEvents::join(const Profile& profile, const Event& event) {
  const std::string_view unit = profile.text(event.unit);
  Joined row{std::string(profile.text(event.name)), std::string(common_unit(unit).unit), std::string(unit),
             std::string(profile.text(event.counted)), event.uncounted};
  const auto found = std::ranges::find_if(
      joined_, [&](const Joined& known) { return known.name == row.name && known.common == row.common; });
  if (found == joined_.end()) {
    joined_.push_back(std::move(row));
    return joined_.size() - 1;
  }
  if (found->unit != row.unit) found->unit = found->common;
  if (found->counted != row.counted || row.uncounted) {
    found->counted.clear();
    found->uncounted = true;
  }
  return static_cast<size_t>(found - joined_.begin());
}

std::vector<EventId> JoinedEvents::add_to(ProfileAssembler& to) const {
  std::vector<EventId> ids;
  std::set<std::string> taken;
  for (const Joined& row : joined_) {
    const std::string name = own_name(row.name, row.unit, taken);
    ids.push_back(to.event({to.string(name), to.string(row.unit), to.string(row.counted), row.uncounted}));
  }
  return ids;
}

void tell_events_apart(Profile& profile) {
  std::set<std::string> taken;
  for_each_id(profile.events, [&](EventId id) {
    Event& event = profile.events[id];
    const std::string name(profile.text(event.name));
    const std::string own = own_name(name, profile.text(event.unit), taken);
    if (own != name) event.name = profile.strings.add(own);
  });
}

}  // namespace tephra::model
