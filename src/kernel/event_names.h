#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/event_parser.h"
#include "kernel/event_spec.h"

namespace tephra::kernel {

// An event that Linux names the same on every machine; the first name is the one that is shown.
struct NamedEvent {
  std::string_view name;
  std::string_view alias;
  uint32_t type = 0;
  uint64_t config = 0;
  std::string_view description;
};
// The software and hardware events. Those of caches follow a rule and are not listed here.
const std::vector<NamedEvent>& named_events();

// A software, hardware or cache event by a name or an alias, without modifiers; case does not matter.
std::optional<EventSpec> named_event(std::string_view name);

// A software event that is known to exist, by its name.
EventSpec software_event(std::string_view name);

// All names of software, hardware and cache events, without aliases.
std::vector<std::string> event_names();

}  // namespace tephra::kernel
