#include "model/profile.h"

namespace tephra::model {

Totals totals(const Profile& profile) {
  Totals sum;
  for (const uint64_t count : profile.samples.count) sum.count += count;
  for (const uint64_t value : profile.samples.value) sum.value += value;
  return sum;
}

Totals totals(const Profile& profile, EventId event) {
  Totals sum;
  for (size_t i = 0; i < profile.samples.size(); ++i) {
    if (profile.samples.event[i] != event) continue;
    sum.count += profile.samples.count[i];
    sum.value += profile.samples.value[i];
  }
  return sum;
}

}  // namespace tephra::model
