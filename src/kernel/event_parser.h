#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "kernel/event_spec.h"
#include "kernel/pmus.h"
#include "kernel/tracefs.h"

namespace tephra::kernel {

// Where events are looked up besides the names that every machine has.
struct EventSources {
  Pmus pmus;
  Tracepoints tracepoints;

  static EventSources here();
};

// Parses a list of events as `perf record -e` takes it:
//   cpu-clock:u  cycles/period=100000/  L1-dcache-load-misses    names that every machine has
//   sched:sched_switch  sys*:*enter_read                         tracepoints
//   r1a8  cpu/event=0x3c,umask=1/u  cpu/mem-loads/  tsc          codes and events of a PMU
//   mem:0x601040/8:w                                             a breakpoint
//   INST_RETIRED:ANY_P  skl::UOPS_ISSUED                         names that libpfm knows
//   {cycles,instructions}:S                                      a group
// Groups are numbered from 0. A name that is unknown is an error that offers the nearest ones.
base::Result<std::vector<EventSpec>> parse_events(std::string_view text);
base::Result<std::vector<EventSpec>> parse_events(std::string_view text, EventSources& sources);

}  // namespace tephra::kernel
