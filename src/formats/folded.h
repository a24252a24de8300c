#pragma once

#include "formats/format.h"

namespace tephra::formats {

// Folded stacks: `comm;outermost;…;leaf COUNT`, one line a stack. Lines of the same stack are read as one sample.
extern const Format kFolded;

// The same with a sample a line, in their order, which may be that of time. What read_profile() takes where every
// sample is to be kept.
base::Result<model::Profile> read_folded_in_order(base::Bytes bytes);

// How `tephra fold` writes them, in the words of stackcollapse-perf.pl.
struct FoldedOptions {
  bool pid = false;       // the first frame is comm-PID
  bool tid = false;       // the first frame is comm-PID/TID
  bool kernel = false;    // kernel frames end in _[k]
  bool jit = false;       // frames of generated code end in _[j]
  bool by_value = false;  // the number is the sum of the periods, not the number of samples
};

// Lines are sorted. Inlined frames end in _[i].
std::string write_folded(const model::Profile& profile, const FoldedOptions& options);

}  // namespace tephra::formats
