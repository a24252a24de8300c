#pragma once

#include <string>

#include "analysis/io_summary.h"

namespace tephra::views {

// Tables of requests to devices and of calls on files, by device and by function, and what such a profile cannot see.
// Empty where there is neither. `shorten`: names of C++ functions without their arguments.
std::string io_text(const analysis::IoSummary& summary, bool shorten);

}  // namespace tephra::views
