#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/profile.h"

namespace tephra::analysis {

// What a profile tells of input and output (the events and labels of stream/io_events.h): requests to devices, and
// calls on files. Views point into the profile.
struct IoSummary {
  struct Sums {
    uint64_t count = 0;
    uint64_t bytes = 0;
    uint64_t nanoseconds = 0;
  };
  struct Row {
    std::string_view device;  // empty: of none
    std::string_view operation;
    Sums sums;
    uint64_t longest = 0;  // ns, to three digits; 0: not known
    uint64_t failed = 0;   // of these
    uint64_t open = 0;     // of these, not done when the recording ended
  };
  // A function of the program's own code (see telling_frames) from which something was asked; a thread's name where
  // that was the kernel.
  struct Place {
    std::string_view operation;
    std::string_view function;  // empty: the stack is not known
    std::string_view module;    // the path of its code object; empty where there is none
    Sums sums;
  };
  struct Part {
    std::vector<Row> rows;      // by device, then operation: the most time first, then the most bytes
    std::vector<Place> places;  // the same
    Sums all;
    bool timed = false;  // whether times were recorded
  };
  Part requests;
  Part calls;
};

// `limit`: at most so many places each. Samples of other events are not looked at.
IoSummary io_summary(const model::Profile& profile, size_t limit);

}  // namespace tephra::analysis
