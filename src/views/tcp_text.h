#pragma once

#include <string>

#include "analysis/tcp_summary.h"

namespace tephra::views {

// Tables of what happened by kind, and by port and peer, at most `most_peers` of these. Empty where there is nothing.
std::string tcp_text(const analysis::TcpSummary& summary, size_t most_peers);

}  // namespace tephra::views
