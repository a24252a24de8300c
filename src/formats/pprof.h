#pragma once

#include "formats/format.h"

namespace tephra::formats {

// pprof's profile.proto. A type of value that counts and the one behind it (samples/count and cpu/nanoseconds,
// alloc_objects/count and alloc_space/bytes) are one event with its count; each other type is an event of its own.
extern const Format kPprof;

}  // namespace tephra::formats
