#include "model/profile.h"

namespace tephra::model {

Totals totals(const Profile& profile) {
  Totals sum;
  for (const uint64_t count : profile.samples.count) sum.count += count;
  for (const uint64_t value : profile.samples.value) sum.value += value;
  return sum;
}

bool sums_fit(const Profile& profile) {
  const auto fit = [](const std::vector<uint64_t>& column) {
    uint64_t sum = 0;
    for (const uint64_t number : column) {
      // The largest number is what sums of rows stay at that exceed it.
      if (__builtin_add_overflow(sum, number, &sum) || sum == UINT64_MAX) return false;
    }
    return true;
  };
  return fit(profile.samples.count) && fit(profile.samples.value);
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
