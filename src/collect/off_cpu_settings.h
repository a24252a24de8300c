#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "abi/wait_record.h"

namespace tephra::collect {

// The events of waits, as files name them.
inline constexpr const char* kOffCpuEvent = "offcpu-time";
inline constexpr const char* kRunTimeEvent = "run-time";
inline constexpr const char* kWakersEvent = "wakers";
// Made of them when the recording is read (analysis/wall.h).
inline constexpr const char* kWallClockEvent = "wall-clock";

// Which waits are told, and how.
struct OffCpuSettings {
  std::chrono::nanoseconds shortest{0};
  std::chrono::nanoseconds longest = std::chrono::nanoseconds::max();
  uint32_t states = (1u << TEPHRA_WAIT_STATES) - 1;  // bits by enum tephra_wait_state
  std::chrono::nanoseconds threshold{5'000'000};     // from here on waits are told one by one
  bool wakers = false;
  bool wall = false;             // all time of threads is accounted for: also that on a CPU, and that in run queues
  std::optional<double> budget;  // the share of one CPU that recording may take, 0 to 1

  bool operator==(const OffCpuSettings&) const = default;
};

}  // namespace tephra::collect
