#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/profile.h"
#include "model/profile_assembler.h"

namespace tephra::model {

// The events of several profiles as those of one. Events of one name are one, in a unit that all their units can be
// brought to; those whose units cannot be brought together get names of their own. Where they do not agree in what was
// counted, nothing counts in the event that they become.
class JoinedEvents {
 public:
  JoinedEvents(std::span<const Profile> profiles, ProfileAssembler& to);

  struct Place {
    EventId id;
    uint64_t factor = 1;  // for values
  };
  Place place(size_t profile, EventId event) const { return places_[profile][event.value]; }

 private:
  struct Joined {
    std::string name;
    std::string common;  // unit
    std::string unit;    // of all that were joined, or the common one
    std::string counted;
    bool uncounted = false;
  };

  size_t join(const Profile& profile, const Event& event);
  // The events get names that tell them apart.
  std::vector<EventId> add_to(ProfileAssembler& to) const;

  std::vector<Joined> joined_;
  std::vector<std::vector<Place>> places_;  // by profile, then event
};

// Gives events of a name that another has a name of their own, by which they can be selected.
void tell_events_apart(Profile& profile);

}  // namespace tephra::model
