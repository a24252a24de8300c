#pragma once

#include <string>

#include "analysis/call_summary.h"

namespace tephra::views {

// A table of system calls: how many, how long, which, and by whom. `shorten`: names of C++ without their arguments.
std::string calls_text(const analysis::CallSummary& summary, bool shorten);

}  // namespace tephra::views
