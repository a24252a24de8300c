#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/profile.h"

namespace tephra::analysis {

inline constexpr std::string_view kWallEvent = "wall-clock";
inline constexpr std::string_view kRunningNotSampled = "[running, not sampled]";

// Which events of a recording make up the time of threads.
struct WallEvents {
  std::string cpu;       // samples that say where threads were while they ran; empty: there are none
  std::string run_time;  // how long they ran: exact, without stacks
  std::string waits;     // how long they waited, and where
};

// Those of a recording that timed both running and waiting (-t wall). Nothing: it did not, it has no samples of them,
// or its wall-clock time was added before.
std::optional<WallEvents> wall_events(const model::Profile& profile);

// What a thread did with its time, over all threads.
struct WallTotals {
  uint64_t running_ns = 0;
  uint64_t not_sampled_ns = 0;  // of that: of threads that no sample hit
  uint64_t waiting_ns = 0;
  size_t threads = 0;
};

// Adds the event kWallEvent: running and waiting in one unit. The samples of each thread's running are scaled so that
// they sum up to what it ran; what a thread without samples ran is at kRunningNotSampled. It is shown first, unless the
// profile says otherwise. Nothing (null): the profile has no such events.
std::optional<WallTotals> add_wall_clock(model::Profile& profile, const WallEvents& events);

// Leaves out the samples that wall-clock time was made of and those of all other events, but who ended waits.
void keep_wall_clock(model::Profile& profile);

// The other way round: leaves out wall-clock time where there is something else, so that nothing counts twice.
bool has_more_than_wall_clock(const model::Profile& profile);
model::Profile without_wall_clock(model::Profile profile);

}  // namespace tephra::analysis
