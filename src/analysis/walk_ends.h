#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "abi/walk_end.h"
#include "model/profile.h"

namespace tephra::analysis {

// Where a frame is, as advice says it: its module, or that no mapping holds it.
std::string_view place_of(const model::Profile& profile, model::FrameId frame);

// How the walk of a sample's stack ended; TEPHRA_WALK_NOT_TOLD where it was not walked by call-frame rules.
inline tephra_walk_end walk_end(const model::Samples& samples, size_t sample) {
  if (samples.walk_end.empty()) return TEPHRA_WALK_NOT_TOLD;
  return static_cast<tephra_walk_end>(samples.walk_end[sample] & ~TEPHRA_WALK_GUESSED);
}
// Whether a caller in it was found by a frame pointer that the code may not keep.
inline bool caller_guessed(const model::Samples& samples, size_t sample) {
  return !samples.walk_end.empty() && (samples.walk_end[sample] & TEPHRA_WALK_GUESSED) != 0;
}

// Why a stack is not whole whose walk ended so. Nothing where it is, or was not walked.
std::optional<model::Reason> reason_of(tephra_walk_end end);

// What to tell users about stacks that ended for a reason: "… of samples " + problem + ", in MODULE", and what to do.
struct WalkAdvice {
  std::string_view problem;
  std::string_view fix;
};
WalkAdvice walk_advice(model::Reason reason);

// Samples whose walk ended early, by the module in which it did.
class WalkEnds {
 public:
  struct Row {
    std::string_view module;  // lives as long as the profile
    model::Reason reason;
    uint64_t samples;
  };
  void add(const model::Profile& profile, model::StackId stack, model::Reason reason, uint64_t samples);
  // The most samples first.
  std::vector<Row> rows() const;
  uint64_t total() const;

 private:
  std::vector<Row> rows_;  // few: modules by reasons
};

}  // namespace tephra::analysis
