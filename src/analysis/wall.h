#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "model/profile.h"

namespace tephra::analysis {

inline constexpr std::string_view kWallEvent = "wall-clock";
inline constexpr std::string_view kRunningNotSampled = "[running, not sampled]";

// Which events of a recording make up the time of threads.
struct WallEvents {
  std::string_view cpu;       // samples that say where threads were while they ran
  std::string_view run_time;  // how long they ran: exact, without stacks
  std::string_view waits;     // how long they waited, and where
};

// What a thread did with its time, over all threads.
struct WallTotals {
  uint64_t running_ns = 0;
  uint64_t not_sampled_ns = 0;  // of that: of threads that no sample hit
  uint64_t waiting_ns = 0;
  size_t threads = 0;
};

// Adds the event kWallEvent: running and waiting in one unit. The samples of each thread's running are scaled so that
// they sum up to what it ran; what a thread without samples ran is at kRunningNotSampled. Nothing (null): the profile
// has no such events.
std::optional<WallTotals> add_wall_clock(model::Profile& profile, const WallEvents& events);

// Leaves out the samples of all other events.
void keep_wall_clock(model::Profile& profile);

}  // namespace tephra::analysis
