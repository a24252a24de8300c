#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tephra::objects {

// One line of a perf-PID.map, with which a program tells the names of code that it generated.
struct PerfMapEntry {
  uint64_t start = 0;
  uint64_t size = 0;
  std::string_view name;  // points into the text
};

// Reads lines of `START SIZE NAME`, numbers in hexadecimal with or without 0x, in the order they were written: a later
// line overrides what an earlier one says about the same addresses. A name goes on to the end of its line and may hold
// blanks. Lines that are none are counted and skipped.
class PerfMapReader {
 public:
  explicit PerfMapReader(std::string_view text) : rest_(text) {}

  // False at the end.
  bool next(PerfMapEntry& entry);
  // Lines that were skipped so far, empty ones aside.
  uint64_t refused() const { return refused_; }

 private:
  std::string_view rest_;
  uint64_t refused_ = 0;
};

}  // namespace tephra::objects
