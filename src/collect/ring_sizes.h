#pragma once

#include <cstdint>

namespace tephra::collect {

// How large a CPU's ring is where the user does not say. Rates are samples a second on a CPU, of all events together.

inline constexpr uint64_t kDefaultRingBytes = 512 << 10;
inline constexpr uint64_t kDefaultFlightBytes = 4 << 20;

// For samples without copies of stacks: the recorder may come a quarter of a second late.
uint64_t plain_ring_bytes(uint64_t rate);

// For stacks that are walked in the kernel: the copies at the start, of ten milliseconds, fill three quarters at most.
uint64_t copy_ring_bytes(uint64_t rate);
// How many copies that is.
uint32_t copies_at_once(uint64_t ring_bytes);

}  // namespace tephra::collect
