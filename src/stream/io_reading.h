#pragma once

#include "base/result.h"
#include "stream/io_events.h"
#include "stream/sample_reading.h"

namespace tephra::stream {

// Where a recording holds what was measured of input and output (kIoEvent): requests to devices and calls on files,
// with their bytes, times, devices and operations. Where it holds the tracepoint block:block_rq_issue instead, the
// bytes of requests; their times are not known then.
base::Status add_io_reading(Recording& recording, const ReadingOptions& options);

}  // namespace tephra::stream
