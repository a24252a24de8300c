#pragma once

#include "base/result.h"
#include "stream/sample_reading.h"

namespace tephra::stream {

// Where a recording holds sched:sched_switch: its switches also mean waits, shown as the event `offcpu-time`.
base::Status add_switch_reading(Recording& recording, const ReadingOptions& options);

}  // namespace tephra::stream
