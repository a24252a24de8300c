#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "model/profile.h"

namespace tephra::analysis {

// One function of one code object. "Self" is what was measured in the function itself, the innermost frame of a stack,
// inlined functions included; "total" adds what it called. A sample in which the function recurses counts once. Views
// point into the profile.
struct TopEntry {
  std::string_view function;
  std::string_view module;  // the path of its code object; empty where there is none
  bool kernel = false;
  uint64_t self_count = 0;
  uint64_t self_value = 0;
  uint64_t total_count = 0;
  uint64_t total_value = 0;
};

// The functions of a symbolized profile with the largest self value, at most `limit`, ties by total and name. Samples
// without a stack are an entry of their own, named "[no stack]", so that the self values of all entries come to the
// profile's totals. Takes time linear in the rows of the stack tree.
std::vector<TopEntry> top_functions(const model::Profile& profile, size_t limit);

}  // namespace tephra::analysis
