#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "analysis/labels.h"
#include "model/profile.h"

namespace tephra::analysis {

// The values of a profile by stack, "prog;main;work", as folded stacks have them.
inline std::map<std::string, uint64_t> folded_values(const model::Profile& profile) {
  std::map<std::string, uint64_t> values;
  for (size_t row = 0; row < profile.samples.size(); ++row) {
    std::string text;
    for (model::StackId at = profile.samples.stack[row]; at; at = profile.stacks[at].parent) {
      text.insert(0, ";" + frame_label(profile, profile.stacks[at].frame));
    }
    text.insert(0, profile.text(profile.threads[profile.samples.thread[row]].comm));
    values[text] += profile.samples.value[row];
  }
  return values;
}

}  // namespace tephra::analysis
