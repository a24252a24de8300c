#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "kernel/event_spec.h"

namespace tephra::kernel {

// An event by a name that libpfm knows, with libpfm's own attributes: "INST_RETIRED:ANY_P:u", "skl::UOPS_ISSUED:c=1".
// None where libpfm does not know the event on this machine or is not part of this build; an error where it knows the
// event but not what was written behind it.
base::Result<std::optional<EventSpec>> pfm_event(const std::string& text);

// Whether this build has libpfm.
bool pfm_built_in();

}  // namespace tephra::kernel
