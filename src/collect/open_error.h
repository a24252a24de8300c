#pragma once

#include <string>

#include "base/result.h"
#include "collect/event_plan.h"
#include "kernel/perf_event.h"

namespace tephra::collect {

// Why the kernel refused an event, and what to do.
base::Error explain_open(const PlannedEvent& event, const kernel::EventScope& scope, int error_number);

// Why there is no ring for a CPU.
base::Error explain_ring(bool whole_cpus, int cpu, int error_number);

// What a user without rights is told to run for kernel code.
std::string kernel_code_fix();

}  // namespace tephra::collect
