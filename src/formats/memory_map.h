#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tephra::formats {

// What was mapped where in the process that was profiled.
struct MappedRange {
  uint64_t start = 0;
  uint64_t limit = 0;
  uint64_t offset = 0;  // of `start` in the file
  std::string path;
  std::string build_id;  // hexadecimal, empty when unknown
};

// Reads the text behind old profiles: lines of /proc/PID/maps, or "START-END: PATH (@OFFSET) BUILD-ID", perhaps behind
// the beginning of a log line. "NAME=value" stands for $NAME below it. Ranges that are not executable are left out,
// those that continue each other are joined, and what looks like the program comes first. Other lines are ignored, as
// all readers of these formats do.
std::vector<MappedRange> read_memory_map(std::string_view text);

// Whether a line says that such text follows.
bool begins_memory_map(std::string_view line);

}  // namespace tephra::formats
