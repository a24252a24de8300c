#pragma once

#include "formats/format.h"

namespace tephra::formats {

// The text of `perf script`, and of what imitates it: an event line a sample, the frames of its stack below it from the
// innermost on, an empty line behind.
extern const Format kPerfScript;

// As text of which every sample is one block. Samples that a row counts together are one block, whose period is their
// sum. Where threads are not known, the outermost frame is the thread's name, as folded stacks have it.
base::Result<std::string> write_perf_script(const model::Profile& profile);

}  // namespace tephra::formats
