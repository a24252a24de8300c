#pragma once

#include "base/bytes.h"
#include "unwind/frame_table.h"

namespace tephra::unwind {

// How much of a mapping generated_code_table needs to see.
constexpr size_t kGeneratedCodeBytes = 64;

// The rows of code that a program has made at run time, in memory without a file, and that is known by its first bytes:
// the trampolines by which CPython (3.12 and later, with -X perf) gives every Python function an address. Null where it
// is not known; a frame pointer is all there is then. Rows are looked up by the distance from where the mapping begins.
// The table lives for ever.
const FrameTable* generated_code_table(base::Bytes first_bytes);

}  // namespace tephra::unwind
