#include <fmt/format.h>

#include "collect/off_cpu_by_tracepoint.h"
#include "collect/off_cpu_engine.h"
#include "collect/profile_type.h"
#include "kernel/event_names.h"

namespace tephra::collect {
namespace {

// What is asked of single waits can be done in the kernel alone.
base::Result<std::string> add_without_bpf(const TypeSettings& settings, RecordOptions& options,
                                          const base::Error& refusal) {
  if (settings.off_cpu != OffCpuSettings()) return refusal;
  TEPHRA_TRY(std::string event, add_off_cpu_by_tracepoint(options));
  options.choices.push_back(fmt::format("waits are found by sched:sched_switch, a record a switch: {}", refusal.why));
  return event;
}

base::Result<std::string> add(const TypeSettings& settings, RecordOptions& options) {
  TEPHRA_CHECK_OK(check_off_cpu_target(options.target));
  if (auto engine = off_cpu_engine(options.target); !engine) return add_without_bpf(settings, options, engine.error());
  add_off_cpu(settings.off_cpu, options);
  return std::string(kOffCpuEvent);
}

base::Error nothing_seen(double seconds) {
  return base::failed("no waits", "", fmt::format("no thread left its CPU in {:.1f} s", seconds),
                      "It computes all along: try -t cpu, or a longer -d. --min-us, --max-us and --state leave out "
                      "waits, too.");
}

}  // namespace

extern const ProfileType kTypeOffCpu{
    "offcpu", "time that threads wait, blocked or for a CPU", "Off-CPU time", add, nothing_seen, TypeTable::kWaits};

}  // namespace tephra::collect
