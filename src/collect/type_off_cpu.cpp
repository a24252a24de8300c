#include <fmt/format.h>

#include "collect/off_cpu_engine.h"
#include "collect/profile_type.h"
#include "kernel/event_names.h"

namespace tephra::collect {
namespace {

base::Result<std::string> add(const TypeSettings& settings, RecordOptions& options) {
  TEPHRA_CHECK_OK(off_cpu_engine(options.target));
  add_off_cpu(settings.off_cpu, options);
  return std::string(kOffCpuEvent);
}

base::Error nothing_seen(double seconds) {
  return base::failed("no waits", "", fmt::format("no thread left its CPU in {:.1f} s", seconds),
                      "It computes all along: try -t cpu, or a longer -d. --min-us, --max-us and --state leave out "
                      "waits, too.");
}

}  // namespace

extern const ProfileType kTypeOffCpu{"offcpu", "time that threads wait, blocked or for a CPU", "Off-CPU time", add,
                                     nothing_seen};

}  // namespace tephra::collect
