#pragma once

#include "model/profile.h"

namespace tephra::model {

// Whether the counts of an event are numbers of samples. Else they count something else (objects that were allocated),
// or nobody counted, and its values are what the event is about: bytes, time.
inline bool counts_samples(const Event& event) { return !event.counted && !event.uncounted; }

// Whether the samples of a profile weigh by their values where nobody asks for one or the other.
inline bool weighs_by_value(const Profile& profile) {
  return profile.samples.size() > 0 && !counts_samples(profile.events[profile.samples.event[0]]);
}

}  // namespace tephra::model
