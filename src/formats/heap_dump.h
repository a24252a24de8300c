#pragma once

#include "formats/format.h"

namespace tephra::formats {

// Heap dumps as text, "heap profile: … @ heap_v2/524288": of tcmalloc (live objects, growth, fragmentation) and of Go
// (/debug/pprof/heap?debug=1). Sampled ones are scaled up, stack by stack.
extern const Format kHeapDump;

}  // namespace tephra::formats
