#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tephra::kernel {

// "umask=0x01", or a word alone.
struct EventTerm {
  std::string name;
  std::string value;
  bool has_value = false;
};

// One event as it was written: its parts, not yet their meaning.
struct EventText {
  std::string written;           // all of it, without spaces around it
  std::string name;              // what stands before the terms; without terms all of it, modifiers included
  bool has_terms = false;        // there were slashes, perhaps with nothing between them
  std::vector<EventTerm> terms;  // between the slashes
  std::string modifiers;         // behind the closing slash
};

// "{a,b}:S", or one event that is in no group.
struct EventGroupText {
  bool braces = false;
  std::string modifiers;
  std::vector<EventText> events;
};

// Splits a list of events at commas, braces and slashes: "{cycles,cpu/event=0x3c,umask=1/u}:S,mem:0x1000/8:rw".
// Knows no event, so anything that is well formed passes.
base::Result<std::vector<EventGroupText>> split_events(std::string_view text);

// "event=0x3c,umask=0x01", as between slashes and in the files of sysfs. A value may be quoted: name='a,b'.
base::Result<std::vector<EventTerm>> split_terms(std::string_view text);

// A decimal number, or a hexadecimal one with 0x, of at most 64 bits.
std::optional<uint64_t> parse_number(std::string_view text);

}  // namespace tephra::kernel
