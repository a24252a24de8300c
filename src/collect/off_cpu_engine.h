#pragma once

#include "base/result.h"
#include "collect/off_cpu_settings.h"
#include "collect/recorder.h"
#include "collect/target.h"

namespace tephra::collect {

// Whether waits of this target can be told at all, in whatever way.
base::Status check_off_cpu_target(const Target& target);

// Whether waits can be timed by a program in the kernel here; the error says why not. This is where another way would
// be chosen.
base::Status off_cpu_engine(const Target& target);

// Lets a recording collect waits: the settings, and the events that carry them. Once for each of `-t offcpu` and
// `-t wall`: what both want is collected.
void add_off_cpu(const OffCpuSettings& settings, RecordOptions& options);

}  // namespace tephra::collect
