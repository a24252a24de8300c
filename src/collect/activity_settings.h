#pragma once

#include "base/result.h"
#include "collect/recorder.h"
#include "kernel/activity_program.h"

namespace tephra::collect {

// The event that an activity is recorded as; what it is shown as is up to its reading (stream/…_reading.h).
const char* event_of(kernel::Activity activity);

// Whether an activity can be summed up in the kernel here; the error says why not. Loads the programs once.
base::Status activity_engine(kernel::Activity activity, const Target& target);

// Adds it to a recording.
void add_activity(kernel::Activity activity, RecordOptions& options);

}  // namespace tephra::collect
