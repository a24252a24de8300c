#include "kernel/event_names.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <array>
#include <cassert>

#include "kernel/near_match.h"
#include "kernel/tracefs.h"

namespace tephra::kernel {
namespace {

struct NamedEvent {
  std::string_view name;
  uint32_t type;
  uint64_t config;
  std::string_view alias = {};
};

constexpr uint64_t cache(uint64_t id, uint64_t operation, uint64_t result) {
  return id | operation << 8 | result << 16;
}

constexpr uint32_t kSoftware = PERF_TYPE_SOFTWARE;
constexpr uint32_t kHardware = PERF_TYPE_HARDWARE;
constexpr uint32_t kCache = PERF_TYPE_HW_CACHE;
constexpr uint64_t kRead = PERF_COUNT_HW_CACHE_OP_READ;
constexpr uint64_t kWrite = PERF_COUNT_HW_CACHE_OP_WRITE;
constexpr uint64_t kAccess = PERF_COUNT_HW_CACHE_RESULT_ACCESS;
constexpr uint64_t kMiss = PERF_COUNT_HW_CACHE_RESULT_MISS;

constexpr NamedEvent kEvents[] = {
    {"cpu-clock", kSoftware, PERF_COUNT_SW_CPU_CLOCK},
    {"task-clock", kSoftware, PERF_COUNT_SW_TASK_CLOCK},
    {"page-faults", kSoftware, PERF_COUNT_SW_PAGE_FAULTS, "faults"},
    {"minor-faults", kSoftware, PERF_COUNT_SW_PAGE_FAULTS_MIN},
    {"major-faults", kSoftware, PERF_COUNT_SW_PAGE_FAULTS_MAJ},
    {"context-switches", kSoftware, PERF_COUNT_SW_CONTEXT_SWITCHES, "cs"},
    {"cpu-migrations", kSoftware, PERF_COUNT_SW_CPU_MIGRATIONS, "migrations"},
    {"alignment-faults", kSoftware, PERF_COUNT_SW_ALIGNMENT_FAULTS},
    {"emulation-faults", kSoftware, PERF_COUNT_SW_EMULATION_FAULTS},
    {"cgroup-switches", kSoftware, PERF_COUNT_SW_CGROUP_SWITCHES},
    {"dummy", kSoftware, PERF_COUNT_SW_DUMMY},
    {"bpf-output", kSoftware, PERF_COUNT_SW_BPF_OUTPUT},
    {"cycles", kHardware, PERF_COUNT_HW_CPU_CYCLES, "cpu-cycles"},
    {"instructions", kHardware, PERF_COUNT_HW_INSTRUCTIONS},
    {"cache-references", kHardware, PERF_COUNT_HW_CACHE_REFERENCES},
    {"cache-misses", kHardware, PERF_COUNT_HW_CACHE_MISSES},
    {"branches", kHardware, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, "branch-instructions"},
    {"branch-misses", kHardware, PERF_COUNT_HW_BRANCH_MISSES},
    {"bus-cycles", kHardware, PERF_COUNT_HW_BUS_CYCLES},
    {"stalled-cycles-frontend", kHardware, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND, "idle-cycles-frontend"},
    {"stalled-cycles-backend", kHardware, PERF_COUNT_HW_STALLED_CYCLES_BACKEND, "idle-cycles-backend"},
    {"ref-cycles", kHardware, PERF_COUNT_HW_REF_CPU_CYCLES},
    {"L1-dcache-loads", kCache, cache(PERF_COUNT_HW_CACHE_L1D, kRead, kAccess)},
    {"L1-dcache-load-misses", kCache, cache(PERF_COUNT_HW_CACHE_L1D, kRead, kMiss)},
    {"L1-dcache-stores", kCache, cache(PERF_COUNT_HW_CACHE_L1D, kWrite, kAccess)},
    {"L1-icache-load-misses", kCache, cache(PERF_COUNT_HW_CACHE_L1I, kRead, kMiss)},
    {"LLC-loads", kCache, cache(PERF_COUNT_HW_CACHE_LL, kRead, kAccess)},
    {"LLC-load-misses", kCache, cache(PERF_COUNT_HW_CACHE_LL, kRead, kMiss)},
    {"LLC-stores", kCache, cache(PERF_COUNT_HW_CACHE_LL, kWrite, kAccess)},
    {"dTLB-loads", kCache, cache(PERF_COUNT_HW_CACHE_DTLB, kRead, kAccess)},
    {"dTLB-load-misses", kCache, cache(PERF_COUNT_HW_CACHE_DTLB, kRead, kMiss)},
    {"iTLB-load-misses", kCache, cache(PERF_COUNT_HW_CACHE_ITLB, kRead, kMiss)},
};

const NamedEvent* find_event(std::string_view name) {
  const auto* found = std::find_if(std::begin(kEvents), std::end(kEvents), [&](const NamedEvent& event) {
    return event.name == name || (!name.empty() && event.alias == name);
  });
  return found == std::end(kEvents) ? nullptr : found;
}

base::Status apply_modifiers(EventSpec& event, std::string_view modifiers) {
  bool user = false;
  bool kernel = false;
  bool hypervisor = false;
  for (const char letter : modifiers) {
    if (letter == 'u')
      user = true;
    else if (letter == 'k')
      kernel = true;
    else if (letter == 'h')
      hypervisor = true;
    else if (letter == 'p')
      event.precise = std::min<uint8_t>(event.precise + 1, 3);
    else if (letter == 'P')
      event.precise = 2;
    else
      return base::usage_error("unknown event modifier", std::string(modifiers), "",
                               "Modifiers are u (user code only), k (kernel only), h (hypervisor) and p (precise).");
  }
  if (user || kernel || hypervisor) {
    event.modes_given = true;
    event.exclude_user = !user;
    event.exclude_kernel = !kernel;
    event.exclude_hypervisor = !hypervisor;
  }
  return {};
}

base::Error unknown_event(const std::string& name) {
  return base::usage_error(
      "no such event", name, "",
      did_you_mean(near_matches(name, event_names())) +
          (name.empty() ? "An event is for example cpu-clock, cycles or sched:sched_switch." : ""));
}

// "name[:modifiers]" of the table above.
base::Result<EventSpec> parse_named(const NamedEvent& named, const std::string& text, std::string_view modifiers) {
  EventSpec event;
  event.name = text;
  event.type = named.type;
  event.config = named.config;
  TEPHRA_CHECK_OK(apply_modifiers(event, modifiers));
  return event;
}

// "group:name[:modifiers]", where name may hold * and ?.
base::Status parse_tracepoints(const std::string& text, std::vector<EventSpec>& events) {
  const size_t first = text.find(':');
  const size_t second = text.find(':', first + 1);
  const std::string group = text.substr(0, first);
  const std::string name = text.substr(first + 1, second == std::string::npos ? second : second - first - 1);
  const std::string modifiers = second == std::string::npos ? "" : text.substr(second + 1);
  std::vector<Tracepoint> found;
  if (name.find_first_of("*?") == std::string::npos) {
    TEPHRA_TRY(Tracepoint tracepoint, find_tracepoint(group, name));
    found.push_back(std::move(tracepoint));
  } else {
    TEPHRA_TRY(found, match_tracepoints(group, name));
  }
  for (const Tracepoint& tracepoint : found) {
    EventSpec event;
    event.name = tracepoint.group + ":" + tracepoint.name + (modifiers.empty() ? "" : ":" + modifiers);
    event.type = PERF_TYPE_TRACEPOINT;
    event.config = tracepoint.id;
    TEPHRA_CHECK_OK(apply_modifiers(event, modifiers));
    events.push_back(std::move(event));
  }
  return {};
}

base::Status parse_one(const std::string& text, std::vector<EventSpec>& events) {
  const size_t colon = text.find(':');
  const std::string name = text.substr(0, colon);
  const NamedEvent* named = find_event(name);
  if (named == nullptr && colon != std::string::npos) return parse_tracepoints(text, events);
  if (named == nullptr) return unknown_event(text);
  TEPHRA_TRY(EventSpec event, parse_named(*named, text, colon == std::string::npos ? "" : text.substr(colon + 1)));
  events.push_back(std::move(event));
  return {};
}

}  // namespace

bool EventSpec::tracepoint() const { return type == PERF_TYPE_TRACEPOINT; }
bool EventSpec::hardware() const { return type == kHardware || type == kCache; }
bool EventSpec::breakpoint() const { return type == PERF_TYPE_BREAKPOINT; }
bool EventSpec::bpf_output() const { return type == kSoftware && config == PERF_COUNT_SW_BPF_OUTPUT; }

base::Result<std::vector<EventSpec>> parse_events(std::string_view text) {
  std::vector<EventSpec> events;
  for (;;) {
    const size_t comma = text.find(',');
    TEPHRA_CHECK_OK(parse_one(std::string(text.substr(0, comma)), events));
    if (comma == std::string_view::npos) return events;
    text.remove_prefix(comma + 1);
  }
}

EventSpec software_event(std::string_view name) {
  const NamedEvent* named = find_event(name);
  assert(named != nullptr);
  EventSpec event;
  event.name = name;
  event.type = named->type;
  event.config = named->config;
  return event;
}

std::vector<std::string> event_names() {
  std::vector<std::string> names;
  for (const NamedEvent& event : kEvents) names.emplace_back(event.name);
  return names;
}

}  // namespace tephra::kernel
