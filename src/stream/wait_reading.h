#pragma once

#include "base/result.h"
#include "stream/sample_reading.h"

namespace tephra::stream {

// Where a recording holds waits that were measured while recording (the events `offcpu-time` and `wakers`, whose raw
// data abi/wait_record.h describes): how many a sample stands for, what they waited for, and when single ones began.
base::Status add_wait_reading(Recording& recording, const ReadingOptions& options);

}  // namespace tephra::stream
