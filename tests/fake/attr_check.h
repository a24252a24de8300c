#pragma once

#include <linux/perf_event.h>

#include "machine_config.h"

namespace tephra::fake {

// Numbers of the PMUs in the folder of event sources. The cpu PMU has the number of raw events.
inline constexpr uint32_t kCpuPmu = PERF_TYPE_RAW;
inline constexpr uint32_t kUncorePmu = 10;

// Whether an event needs a counter of the cpu PMU.
bool uses_counter(const perf_event_attr& attr);
bool is_uncore(const perf_event_attr& attr);
bool is_sampling(const perf_event_attr& attr);
// The flags from `disabled` on, as one number.
uint64_t flags_of(const perf_event_attr& attr);

// What a kernel does with an attribute before it looks at whom to count: 0, or an errno. It may change the attribute,
// as the kernel does with defaults and with the size that it would have liked.
int check_attr(perf_event_attr& attr, const MachineConfig& config);

// What the PMU that the event belongs to says to it: 0, or an errno.
int check_pmu(const perf_event_attr& attr, const MachineConfig& config, bool task, int cpu);

}  // namespace tephra::fake
