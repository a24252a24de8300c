#include <fmt/format.h>

#include "collect/profile_type.h"
#include "kernel/event_names.h"
#include "stream/fault_reading.h"

namespace tephra::collect {
namespace {

// The event `page-faults` fires before there is a page, so that its size is not known. These two come when the fault
// was handled, and each fault is one of them.
base::Result<std::string> add(const TypeSettings& settings, RecordOptions& options) {
  const bool both = settings.minor_faults == settings.major_faults;
  for (const std::string_view name : {"minor-faults", "major-faults"}) {
    if (!both && settings.major_faults != (name == "major-faults")) continue;
    kernel::EventSpec event = kernel::software_event(name);
    event.period = settings.period.value_or(1);
    event.tells_page = true;
    options.events.push_back(event);
  }
  return std::string(stream::kResidentMemory);
}

base::Error nothing_seen(double seconds) {
  return base::failed("no page faults", "", fmt::format("no memory became resident in {:.1f} s", seconds),
                      "What uses memory that it already has does not fault: try its start, with -- PROGRAM, or a "
                      "longer -d.");
}

}  // namespace

extern const ProfileType kTypeMemory{
    "mem", "page faults, where memory becomes resident", "Resident memory", add, nothing_seen, TypeTable::kMemory};

}  // namespace tephra::collect
