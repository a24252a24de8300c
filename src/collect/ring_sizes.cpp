#include "collect/ring_sizes.h"

#include <algorithm>
#include <bit>

#include "collect/event_attr.h"

namespace tephra::collect {
namespace {

// No CPU samples so often: rates beyond it ask for the largest rings, and do not overflow what is made of them.
constexpr uint64_t kHighestRate = 1 << 20;

}  // namespace

uint64_t plain_ring_bytes(uint64_t rate) {
  constexpr uint64_t kBytesASample = 256;
  constexpr uint64_t kMost = 4 << 20;
  return std::clamp(std::bit_ceil(std::min(rate, kHighestRate) * kBytesASample / 4), kDefaultRingBytes, kMost);
}

uint64_t copy_ring_bytes(uint64_t rate) {
  constexpr uint64_t kLeast = 2 << 20;
  constexpr uint64_t kMost = 16 << 20;
  const uint64_t copied = std::min(rate, kHighestRate) / 100 * kStartStackBytes;
  return std::clamp(std::bit_ceil(copied / 3 * 4), kLeast, kMost);
}

uint32_t copies_at_once(uint64_t ring_bytes) {
  constexpr uint64_t kLeast = 2;
  return static_cast<uint32_t>(std::max(kLeast, ring_bytes / 4 * 3 / kStartStackBytes));
}

}  // namespace tephra::collect
