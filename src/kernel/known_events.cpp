#include "kernel/known_events.h"

#include <linux/perf_event.h>

#include "kernel/cache_events.h"
#include "kernel/event_names.h"

namespace tephra::kernel {
namespace {

void add_pmu_events(Pmus& pmus, std::vector<KnownEvent>& events) {
  for (const std::string& name : pmus.names()) {
    const Pmu* pmu = pmus.find(name);
    if (pmu == nullptr) continue;
    for (const std::string& event : pmu->events) {
      const auto definition = pmus.definition(*pmu, event);
      events.push_back({name + "/" + event + "/", EventKind::kPmu, definition ? *definition : ""});
    }
  }
}

}  // namespace

std::string_view name_of(EventKind kind) {
  switch (kind) {
    case EventKind::kHardware:
      return "hardware";
    case EventKind::kSoftware:
      return "software";
    case EventKind::kCache:
      return "cache";
    case EventKind::kPmu:
      return "pmu";
    case EventKind::kTracepoint:
      return "tracepoint";
    case EventKind::kRaw:
      return "raw";
    case EventKind::kBreakpoint:
      return "breakpoint";
  }
  return "";
}

std::vector<KnownEvent> known_events(Pmus& pmus, Tracepoints& tracepoints) {
  std::vector<KnownEvent> events;
  for (const NamedEvent& event : named_events()) {
    const auto kind = event.type == PERF_TYPE_SOFTWARE ? EventKind::kSoftware : EventKind::kHardware;
    events.push_back({std::string(event.name), kind, std::string(event.description)});
  }
  for (std::string& name : cache_event_names()) events.push_back({std::move(name), EventKind::kCache, ""});
  add_pmu_events(pmus, events);
  for (std::string& name : tracepoints.names()) events.push_back({std::move(name), EventKind::kTracepoint, ""});
  events.push_back({"rNNN", EventKind::kRaw, "an event of the CPU by its hexadecimal code"});
  events.push_back({"mem:ADDRESS[/LENGTH][:rwx]", EventKind::kBreakpoint, "accesses to an address"});
  return events;
}

std::vector<KnownEvent> known_events() {
  EventSources sources = EventSources::here();
  return known_events(sources.pmus, sources.tracepoints);
}

}  // namespace tephra::kernel
