#include "kernel/event_names.h"

#include <linux/perf_event.h>
#include <strings.h>

#include <algorithm>
#include <cassert>

#include "kernel/cache_events.h"

namespace tephra::kernel {
namespace {

constexpr uint32_t kSoftware = PERF_TYPE_SOFTWARE;
constexpr uint32_t kHardware = PERF_TYPE_HARDWARE;

bool same_name(std::string_view a, std::string_view b) {
  return a.size() == b.size() && ::strncasecmp(a.data(), b.data(), a.size()) == 0;
}

EventSpec spec_of(std::string_view name, uint32_t type, uint64_t config) {
  EventSpec event;
  event.name = name;
  event.type = type;
  event.config = config;
  // A counter of the CPU also runs while a guest of this machine does; that is not what was asked for.
  event.exclude_guest = event.hardware();
  return event;
}

}  // namespace

const std::vector<NamedEvent>& named_events() {
  static const std::vector<NamedEvent> events{
      {"cpu-clock", "", kSoftware, PERF_COUNT_SW_CPU_CLOCK, "time on a CPU, by a timer; needs no PMU"},
      {"task-clock", "", kSoftware, PERF_COUNT_SW_TASK_CLOCK, "time that the task ran, by a timer"},
      {"page-faults", "faults", kSoftware, PERF_COUNT_SW_PAGE_FAULTS, "pages that had to be mapped on access"},
      {"minor-faults", "", kSoftware, PERF_COUNT_SW_PAGE_FAULTS_MIN, "page faults that needed no disk"},
      {"major-faults", "", kSoftware, PERF_COUNT_SW_PAGE_FAULTS_MAJ, "page faults that waited for a disk"},
      {"context-switches", "cs", kSoftware, PERF_COUNT_SW_CONTEXT_SWITCHES, "times that a CPU changed the task"},
      {"cpu-migrations", "migrations", kSoftware, PERF_COUNT_SW_CPU_MIGRATIONS, "times that a task changed the CPU"},
      {"alignment-faults", "", kSoftware, PERF_COUNT_SW_ALIGNMENT_FAULTS, "unaligned accesses the kernel had to mend"},
      {"emulation-faults", "", kSoftware, PERF_COUNT_SW_EMULATION_FAULTS, "instructions the kernel had to emulate"},
      {"cgroup-switches", "", kSoftware, PERF_COUNT_SW_CGROUP_SWITCHES,
       "context switches to a task of another control group"},
      {"dummy", "", kSoftware, PERF_COUNT_SW_DUMMY, "counts nothing; carries records about processes"},
      {"bpf-output", "", kSoftware, PERF_COUNT_SW_BPF_OUTPUT, "what BPF programs send"},
      {"cycles", "cpu-cycles", kHardware, PERF_COUNT_HW_CPU_CYCLES, "cycles of the CPU, at its changing clock rate"},
      {"instructions", "", kHardware, PERF_COUNT_HW_INSTRUCTIONS, "instructions retired"},
      {"cache-references", "", kHardware, PERF_COUNT_HW_CACHE_REFERENCES, "accesses to the last level cache, mostly"},
      {"cache-misses", "", kHardware, PERF_COUNT_HW_CACHE_MISSES, "accesses that missed the last level cache, mostly"},
      {"branches", "branch-instructions", kHardware, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, "branches retired"},
      {"branch-misses", "", kHardware, PERF_COUNT_HW_BRANCH_MISSES, "branches that were predicted wrong"},
      {"bus-cycles", "", kHardware, PERF_COUNT_HW_BUS_CYCLES, "cycles of the bus"},
      {"stalled-cycles-frontend", "idle-cycles-frontend", kHardware, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND,
       "cycles without instructions to issue"},
      {"stalled-cycles-backend", "idle-cycles-backend", kHardware, PERF_COUNT_HW_STALLED_CYCLES_BACKEND,
       "cycles without room to execute"},
      {"ref-cycles", "", kHardware, PERF_COUNT_HW_REF_CPU_CYCLES, "cycles at a fixed clock rate"},
  };
  return events;
}

std::optional<EventSpec> named_event(std::string_view name) {
  for (const NamedEvent& event : named_events()) {
    if (same_name(event.name, name) || (!event.alias.empty() && same_name(event.alias, name))) {
      return spec_of(name, event.type, event.config);
    }
  }
  if (const auto config = cache_event(name)) return spec_of(name, PERF_TYPE_HW_CACHE, *config);
  return std::nullopt;
}

EventSpec software_event(std::string_view name) {
  const auto event = named_event(name);
  assert(event && event->type == kSoftware);
  return event.value_or(EventSpec{});
}

std::vector<std::string> event_names() {
  std::vector<std::string> names;
  for (const NamedEvent& event : named_events()) names.emplace_back(event.name);
  for (std::string& name : cache_event_names()) names.push_back(std::move(name));
  return names;
}

}  // namespace tephra::kernel
