#pragma once

#include <string>
#include <string_view>

#include "stream/event_layout.h"

namespace tephra::stream {

// perf's name for an event that the file does not name: "cpu-clock", "cycles"; else its numbers, "type:1:0x63".
std::string name_of(const EventLayout& layout);

// The unit of a sample's period: "ns" for the clocks, else "events".
std::string_view unit_of(const EventLayout& layout);

}  // namespace tephra::stream
