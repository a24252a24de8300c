#include <linux/perf_event.h>

#include "collect/recorder.h"
#include "kernel/perf_event.h"

namespace tephra::collect {

kernel::EventSpec default_event() {
  if (kernel::counts_here(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES)) {
    kernel::EventSpec cycles;
    cycles.name = "cycles:P";
    cycles.type = PERF_TYPE_HARDWARE;
    cycles.config = PERF_COUNT_HW_CPU_CYCLES;
    cycles.most_precise = true;
    return cycles;
  }
  return kernel::software_event("cpu-clock");
}

}  // namespace tephra::collect
