#include <fmt/format.h>

#include "collect/profile_type.h"
#include "kernel/event_parser.h"

namespace tephra::collect {
namespace {

base::Result<std::string> add(const TypeSettings& settings, RecordOptions& options) {
  TEPHRA_TRY(auto events, kernel::parse_events("raw_syscalls:sys_enter"));
  for (kernel::EventSpec& event : events) event.period = settings.period.value_or(1);
  options.events.insert(options.events.end(), events.begin(), events.end());
  return events[0].name;
}

base::Error nothing_seen(double seconds) {
  return base::failed("no system calls", "", fmt::format("none was entered in {:.1f} s", seconds),
                      "What computes or waits makes none: try -t cpu, or a longer -d.");
}

}  // namespace

extern const ProfileType kTypeSyscalls{"syscalls", "system calls", "System calls", add, nothing_seen};

}  // namespace tephra::collect
