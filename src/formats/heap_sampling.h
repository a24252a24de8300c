#pragma once

#include <cmath>
#include <cstdint>

#include "formats/legacy_profile.h"

namespace tephra::formats {

// What sampled allocations stand for. An allocator that samples once in `period` bytes on average sees an allocation of
// s bytes with the probability 1 - exp(-s/period). A record of a dump tells the number and the sum of its sampled
// allocations alone, so their mean size stands for each of them; records must not be summed before. A period of 1 or 0:
// everything was recorded, or nobody knows.
inline LegacyProfile::Amount unbiased(const LegacyProfile::Amount& sampled, uint64_t period) {
  if (sampled.count == 0 || sampled.value == 0) return {};
  if (period <= 1) return sampled;
  const double mean = static_cast<double>(sampled.value) / static_cast<double>(sampled.count);
  const double scale = 1 / (1 - std::exp(-mean / static_cast<double>(period)));
  const auto scaled = [&](uint64_t number) {
    constexpr double kMost = 9.2e18;  // what pprof can hold
    const double product = static_cast<double>(number) * scale;
    return static_cast<uint64_t>(product < kMost ? product : kMost);
  };
  return {scaled(sampled.count), scaled(sampled.value)};
}

}  // namespace tephra::formats
