#pragma once

#include "formats/format.h"

namespace tephra::formats {

// The heap dumps of jemalloc ("heap_v2/524288"): stacks with the numbers of each thread, scaled up one by one. Samples
// have a label "thread" with jemalloc's number of the thread, and "bytes", the mean size.
extern const Format kJemallocHeap;

}  // namespace tephra::formats
