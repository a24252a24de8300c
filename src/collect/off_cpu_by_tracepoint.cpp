#include "collect/off_cpu_by_tracepoint.h"

#include "kernel/event_parser.h"
#include "stream/wait_states.h"

namespace tephra::collect {

base::Result<std::string> add_off_cpu_by_tracepoint(RecordOptions& options) {
  auto events = kernel::parse_events("sched:sched_switch");
  if (!events) {
    base::Error error = std::move(events).error();
    error.what = "off-CPU time needs BPF or the tracepoint sched:sched_switch, and neither can be used";
    if (error.fix.empty()) error.fix = "Run as root, or with CAP_BPF and CAP_PERFMON.";
    return error;
  }
  for (kernel::EventSpec& event : *events) event.period = 1;
  options.events.insert(options.events.end(), events->begin(), events->end());
  // When a thread gets a CPU is told by the switch of the thread that had it, which is not recorded with a process.
  if (!options.target.whole_cpus()) options.sampling.switches = true;
  return std::string(stream::kWaitEvent);
}

}  // namespace tephra::collect
