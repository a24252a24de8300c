#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "abi/quality_reasons.h"

namespace tephra::model {

enum class Reason : uint8_t {
#define TEPHRA_REASON(name, meaning) name,
  TEPHRA_QUALITY_REASONS(TEPHRA_REASON)
#undef TEPHRA_REASON
};

inline constexpr std::array kReasonNames{
#define TEPHRA_REASON(name, meaning) std::string_view(#name),
    TEPHRA_QUALITY_REASONS(TEPHRA_REASON)
#undef TEPHRA_REASON
};
inline constexpr std::array kReasonMeanings{
#define TEPHRA_REASON(name, meaning) std::string_view(meaning),
    TEPHRA_QUALITY_REASONS(TEPHRA_REASON)
#undef TEPHRA_REASON
};
inline constexpr size_t kReasonCount = kReasonNames.size();

// What the collecting side knows to be missing. What shows only in the stacks themselves (rooted, named) is found by
// analysis::judge, which joins both into a verdict.
struct Quality {
  uint64_t lost = 0;       // samples the kernel could not store
  uint64_t throttled = 0;  // times the kernel stopped an event for firing too often
  uint64_t idle = 0;       // samples of the idle task that were left out
  uint64_t own = 0;        // samples of the recorder itself that were left out
  std::array<uint64_t, kReasonCount> reasons{};

  uint64_t& operator[](Reason reason) { return reasons[static_cast<size_t>(reason)]; }
  uint64_t operator[](Reason reason) const { return reasons[static_cast<size_t>(reason)]; }

  Quality& operator+=(const Quality& other) {
    lost += other.lost;
    throttled += other.throttled;
    idle += other.idle;
    own += other.own;
    for (size_t i = 0; i < kReasonCount; ++i) reasons[i] += other.reasons[i];
    return *this;
  }
  bool operator==(const Quality&) const = default;
};

}  // namespace tephra::model
