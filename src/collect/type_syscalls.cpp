#include <fmt/format.h>

#include "collect/activity_settings.h"
#include "collect/profile_type.h"
#include "kernel/event_parser.h"
#include "stream/syscall_reading.h"

namespace tephra::collect {
namespace {

// A record a call, by the tracepoint.
base::Result<std::string> add_without_bpf(const TypeSettings& settings, RecordOptions& options,
                                          const base::Error& refusal) {
  TEPHRA_TRY(auto events, kernel::parse_events("raw_syscalls:sys_enter"));
  for (kernel::EventSpec& event : events) event.period = settings.period.value_or(1);
  options.events.insert(options.events.end(), events.begin(), events.end());
  options.choices.push_back(fmt::format("calls are found by raw_syscalls:sys_enter, a record a call: {}", refusal.why));
  return events[0].name;
}

base::Result<std::string> add(const TypeSettings& settings, RecordOptions& options) {
  if (auto engine = activity_engine(kernel::Activity::kSyscalls, options.target); !engine) {
    return add_without_bpf(settings, options, engine.error());
  }
  add_activity(kernel::Activity::kSyscalls, options);
  return std::string(stream::kSyscallCounts);
}

base::Error nothing_seen(double seconds) {
  return base::failed("no system calls", "", fmt::format("none was entered in {:.1f} s", seconds),
                      "What computes or waits makes none: try -t cpu, or a longer -d.");
}

}  // namespace

extern const ProfileType kTypeSyscalls{
    "syscalls", "system calls, and the time in them", "System calls", add, nothing_seen, TypeTable::kCalls};

}  // namespace tephra::collect
