#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tephra::kernel {

// What a user asked to count: which event of the kernel, and in which modes.
struct EventSpec {
  std::string name;  // as it is shown and stored: "cpu-clock:u", "sched:sched_switch"
  uint32_t type = 0;
  uint64_t config = 0;
  bool exclude_user = false;
  bool exclude_kernel = false;
  bool exclude_hypervisor = false;
  uint8_t precise = 0;
  bool modes_given = false;  // a :u or :k was written, so they must not be changed silently

  bool tracepoint() const;
  bool hardware() const;
  bool bpf_output() const;
};

// Parses "cpu-clock:u,sched:sched_*": names of software and hardware events, tracepoints, and the modifiers u, k, h, p.
// Tracepoints are looked up in tracefs. A name that is unknown is an error that offers the nearest ones.
base::Result<std::vector<EventSpec>> parse_events(std::string_view text);

// A software event that is known to exist, by its name.
EventSpec software_event(std::string_view name);

// The names parse_events knows besides tracepoints, without aliases.
std::vector<std::string> event_names();

}  // namespace tephra::kernel
