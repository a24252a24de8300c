#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/input.h"
#include "collect/profile_type.h"

namespace tephra::cli {

// A type of profile that is recorded, and the event that shows it; empty: the first that has samples.
struct ShownType {
  const collect::ProfileType* type = nullptr;
  std::string event;
};

// A type as it was drawn.
struct DrawnType {
  const collect::ProfileType* type = nullptr;
  std::string stem;  // of its files
  Input input;
  std::string title{};  // of its picture
  std::string table{};  // what tells most of it, where that is made of more than `input`
  bool more = false;    // another picture of the type before
};

// Draws the recording STEM.perf.data: STEM.html of all of it, and folded stacks and a flame graph of each type. A type
// without samples is not drawn, unless it is the only one. `wanted` are the user's options.
base::Result<std::vector<DrawnType>> draw_profile(const std::string& stem, const std::vector<ShownType>& types,
                                                  const InputOptions& wanted);

// Prints what tells most of each type, the verdicts, and which files there are.
void show_profile(const std::vector<DrawnType>& drawn, const std::vector<ShownType>& types, const std::string& stem,
                  const InputOptions& wanted);

}  // namespace tephra::cli
