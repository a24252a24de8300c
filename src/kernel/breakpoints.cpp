#include "kernel/breakpoints.h"

#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>

#include <algorithm>
#include <optional>

#include "kernel/event_syntax.h"

namespace tephra::kernel {
namespace {

base::Error bad_breakpoint(std::string_view text, const std::string& why) {
  return base::usage_error("cannot read the breakpoint", std::string(text), why,
                           "Write mem:ADDRESS[/LENGTH][:rwx][:MODIFIERS], for example mem:0x601040/8:w:u.");
}

// What stands before the next ':', taken off the text with it.
std::string_view take_part(std::string_view& text) {
  const size_t colon = text.find(':');
  const std::string_view part = text.substr(0, colon);
  text.remove_prefix(colon == std::string_view::npos ? text.size() : colon + 1);
  return part;
}

// The letters r, w and x, each at most once.
std::optional<uint32_t> access_in(std::string_view letters) {
  uint32_t access = 0;
  for (const char letter : letters) {
    const size_t which = std::string_view("rwx").find(letter);
    if (which == std::string_view::npos) return std::nullopt;
    constexpr uint32_t kBits[] = {HW_BREAKPOINT_R, HW_BREAKPOINT_W, HW_BREAKPOINT_X};
    const uint32_t bit = kBits[which];
    if ((access & bit) != 0) return std::nullopt;
    access |= bit;
  }
  if (access == 0) return std::nullopt;
  return access;
}

}  // namespace

base::Result<BreakpointText> parse_breakpoint(std::string_view text) {
  std::string_view rest = text.substr(std::min(text.size(), kBreakpointPrefix.size()));
  const std::string_view place = take_part(rest);
  const size_t slash = place.find('/');
  const auto address = parse_number(place.substr(0, slash));
  if (!address) return bad_breakpoint(text, "the address is not a number of 64 bits");

  BreakpointText breakpoint;
  EventSpec& event = breakpoint.event;
  event.name = text;
  event.type = PERF_TYPE_BREAKPOINT;
  event.config1 = *address;
  event.breakpoint_type = HW_BREAKPOINT_RW;
  if (const auto access = access_in(rest.substr(0, rest.find(':')))) {
    event.breakpoint_type = *access;
    take_part(rest);
  }
  event.config2 = event.breakpoint_type == HW_BREAKPOINT_X ? sizeof(long) : uint64_t{HW_BREAKPOINT_LEN_4};
  if (slash != std::string_view::npos) {
    const auto length = parse_number(place.substr(slash + 1));
    if (!length || *length == 0) return bad_breakpoint(text, "the length is not a number of bytes");
    event.config2 = *length;
  }
  breakpoint.modifiers = take_part(rest);
  if (!rest.empty()) return bad_breakpoint(text, "'" + std::string(rest) + "' is left over");
  return breakpoint;
}

}  // namespace tephra::kernel
