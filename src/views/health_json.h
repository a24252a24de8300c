#pragma once

#include <span>
#include <string>

#include "analysis/health.h"
#include "views/health_text.h"

namespace tephra::views {

// The facts and findings as one JSON object; `process` may be null. Names and levels are stable.
std::string health_json(const kernel::MachineFacts& machine, std::span<const analysis::Finding> findings,
                        const ProcessHealth* process);

}  // namespace tephra::views
