#pragma once

#include <string>

#include "analysis/resident_memory.h"

namespace tephra::views {

// A table of what became resident, by class, and what such a profile can and cannot see. Empty where there are no rows.
std::string resident_memory_text(const analysis::ResidentMemory& memory);

}  // namespace tephra::views
