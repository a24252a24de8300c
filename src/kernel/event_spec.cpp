#include "kernel/event_spec.h"

#include <linux/perf_event.h>

namespace tephra::kernel {

bool EventSpec::tracepoint() const { return type == PERF_TYPE_TRACEPOINT; }
bool EventSpec::hardware() const { return type == PERF_TYPE_HARDWARE || type == PERF_TYPE_HW_CACHE; }
bool EventSpec::breakpoint() const { return type == PERF_TYPE_BREAKPOINT; }
bool EventSpec::bpf_output() const { return type == PERF_TYPE_SOFTWARE && config == PERF_COUNT_SW_BPF_OUTPUT; }

}  // namespace tephra::kernel
