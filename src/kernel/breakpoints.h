#pragma once

#include <string_view>

#include "base/result.h"
#include "kernel/event_spec.h"

namespace tephra::kernel {

inline constexpr std::string_view kBreakpointPrefix = "mem:";

struct BreakpointText {
  EventSpec event;
  std::string modifiers;
};
// "mem:ADDRESS[/LENGTH][:ACCESS][:MODIFIERS]": hits when the address is read (r), written (w) or executed (x). Without
// ACCESS it is rw; LENGTH is then 4 bytes, and that of a pointer for x.
base::Result<BreakpointText> parse_breakpoint(std::string_view text);

}  // namespace tephra::kernel
