#pragma once

#include <time.h>

#include <cstdint>

namespace tephra::base {

// CLOCK_MONOTONIC, the clock of everything that is recorded.
inline uint64_t monotonic_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

}  // namespace tephra::base
