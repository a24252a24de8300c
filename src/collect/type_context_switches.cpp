#include <fmt/format.h>

#include "collect/profile_type.h"
#include "kernel/event_names.h"

namespace tephra::collect {
namespace {

base::Result<std::string> add(const TypeSettings& settings, RecordOptions& options) {
  kernel::EventSpec event = kernel::software_event("context-switches");
  event.period = settings.period.value_or(1);
  options.events.push_back(event);
  return event.name;
}

base::Error nothing_seen(double seconds) {
  return base::failed("no context switches", "", fmt::format("no thread gave up its CPU in {:.1f} s", seconds),
                      "A thread that sleeps all along does not switch: try a longer -d, or -t offcpu.");
}

}  // namespace

extern const ProfileType kTypeContextSwitches{"ctx", "context switches, where threads give up the CPU",
                                              "Context switches", add, nothing_seen};

}  // namespace tephra::collect
