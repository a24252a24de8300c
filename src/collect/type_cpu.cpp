#include "collect/profile_type.h"

namespace tephra::collect {
namespace {

constexpr uint64_t kUsualFrequency = 99;

base::Result<std::string> add(const TypeSettings& settings, RecordOptions& options) {
  std::vector<kernel::EventSpec> events = settings.events;
  if (events.empty()) {
    events.push_back(default_event());
    options.default_event_added = true;
  }
  for (kernel::EventSpec& event : events) {
    const bool own_rate = event.frequency || event.period;
    if (own_rate) continue;
    event.period = settings.period;
    if (!event.period) event.frequency = settings.frequency.value_or(kUsualFrequency);
  }
  const std::string shown = settings.events.empty() ? events[0].name : "";
  options.events.insert(options.events.end(), events.begin(), events.end());
  return shown;
}

}  // namespace

extern const ProfileType kTypeCpu{"cpu", "CPU time (the default)", "CPU profile", add};

}  // namespace tephra::collect
