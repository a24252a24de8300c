#include <linux/perf_event.h>

#include <fmt/format.h>

#include "collect/profile_type.h"
#include "kernel/event_names.h"
#include "kernel/perf_event.h"

namespace tephra::collect {
namespace {

constexpr uint64_t kUsualPeriod = 10'000;

base::Result<std::string> add(const TypeSettings& settings, RecordOptions& options) {
  auto event = kernel::named_event("cache-misses");
  if (!event || !kernel::counts_here(event->type, event->config)) {
    return base::failed("cannot sample cache misses", "", "this machine shows no hardware counters (no PMU)",
                        "Run it on hardware, or on a virtual machine that is given the counters.");
  }
  if (settings.frequency) {
    event->frequency = settings.frequency;
  } else {
    event->period = settings.period.value_or(kUsualPeriod);
  }
  options.events.push_back(*event);
  return event->name;
}

base::Error nothing_seen(double seconds) {
  return base::failed("no cache misses", "", fmt::format("fewer than one period of them came in {:.1f} s", seconds),
                      "Try a smaller --period, for example --period 1000.");
}

}  // namespace

extern const ProfileType kTypeCacheMisses{"cache", "misses of the last-level cache (needs hardware counters)",
                                          "Cache misses", add, nothing_seen};

}  // namespace tephra::collect
