#pragma once

#include <string>

#include "base/result.h"
#include "collect/recorder.h"

namespace tephra::collect {

// Off-CPU time without BPF: every sched:sched_switch with its stack, from which waits are found when the recording is
// read (stream/switch_reading.h). Costs a record a switch. Returns the event that shows it; an error says why this user
// may not have the tracepoint, and what to do.
base::Result<std::string> add_off_cpu_by_tracepoint(RecordOptions& options);

}  // namespace tephra::collect
