#pragma once

#include <string_view>

namespace tephra::model {

// Whether the name of an event is one that Linux or perf gave it: a counter, a PMU's numbers, a tracepoint of the
// kernel's own groups. Any other may be one that a user chose, after what is probed.
bool is_public_event(std::string_view name);

}  // namespace tephra::model
