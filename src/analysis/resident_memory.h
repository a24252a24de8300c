#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/profile.h"

namespace tephra::analysis {

// Where memory became resident: the faults of a profile by what they did (the label "class" of samples that
// stream/fault_reading.h has read).
struct ResidentMemory {
  struct Row {
    std::string name;  // the label's text; empty where a sample has none
    uint64_t bytes = 0;
    uint64_t faults = 0;
    uint64_t major = 0;  // of these, those that waited for a disk
  };
  std::vector<Row> rows;      // the most bytes first, then the most faults
  Row all;                    // the sum
  uint64_t size_unknown = 0;  // faults whose page was gone before its size was read; they weigh nothing
};

// Rows are empty where no sample has such a label.
ResidentMemory resident_memory(const model::Profile& profile);

}  // namespace tephra::analysis
