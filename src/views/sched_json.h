#pragma once

#include <string>
#include <vector>

#include "analysis/sched_latency.h"

namespace tephra::views {

// All that is known of the rows; times are whole nanoseconds. `merged`: rows are names, not threads.
std::string sched_json(const analysis::SchedLatency& latency, const std::vector<analysis::SchedThread>& rows,
                       bool merged);

}  // namespace tephra::views
