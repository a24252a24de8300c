// In place of pfm_events.cpp where tephra is built without libpfm.
#include "kernel/pfm_events.h"

namespace tephra::kernel {

base::Result<std::optional<EventSpec>> pfm_event(const std::string&) { return std::optional<EventSpec>(); }

bool pfm_built_in() { return false; }

}  // namespace tephra::kernel
