#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernel/event_parser.h"

namespace tephra::kernel {

enum class EventKind { kHardware, kSoftware, kCache, kPmu, kTracepoint, kRaw, kBreakpoint };
// "hardware", "software", "cache", "pmu", "tracepoint", "raw", "breakpoint".
std::string_view name_of(EventKind kind);

struct KnownEvent {
  std::string name;  // as parse_events takes it; for raw codes and breakpoints the form of it
  EventKind kind = EventKind::kSoftware;
  std::string description;  // one line, where there is one
};

// All that parse_events knows here by name, and the forms it takes besides; whether each counts is not asked.
// Tracepoints are missing where tracefs cannot be read.
std::vector<KnownEvent> known_events();
std::vector<KnownEvent> known_events(Pmus& pmus, Tracepoints& tracepoints);

}  // namespace tephra::kernel
