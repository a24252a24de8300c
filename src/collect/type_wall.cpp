#include <fmt/format.h>

#include "collect/off_cpu_engine.h"
#include "collect/profile_type.h"

namespace tephra::collect {

extern const ProfileType kTypeCpu;

namespace {

// The CPU samples say where threads are while they run; how long that is, and all the rest, is timed.
base::Result<std::string> add(const TypeSettings& settings, RecordOptions& options) {
  TEPHRA_CHECK_OK(off_cpu_engine(options.target));
  if (!options.default_event_added && settings.events.empty()) {
    TEPHRA_TRY([[maybe_unused]] const std::string cpu, kTypeCpu.add(settings, options));
  }
  OffCpuSettings waits = settings.off_cpu;
  const bool all = waits.states == OffCpuSettings().states && waits.shortest == OffCpuSettings().shortest &&
                   waits.longest == OffCpuSettings().longest;
  if (!all) {
    return base::usage_error("-t wall accounts for all time", "", "--state, --min-us and --max-us leave out some",
                             "Leave them out, or use -t offcpu.");
  }
  waits.wall = true;
  add_off_cpu(waits, options);
  return std::string(kWallClockEvent);
}

base::Error nothing_seen(double seconds) {
  return base::failed("no threads", "", fmt::format("nothing that was to be profiled was there in {:.1f} s", seconds),
                      "Try while it runs, or a longer -d.");
}

}  // namespace

extern const ProfileType kTypeWall{
    "wall",           "all time of threads: running, waiting, and in between", "Wall-clock time", add, nothing_seen,
    TypeTable::kWaits};

}  // namespace tephra::collect
