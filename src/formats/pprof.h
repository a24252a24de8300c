#pragma once

#include "formats/format.h"

namespace tephra::formats {

// pprof's profile.proto. A type of value that counts and the one behind it (samples/count and cpu/nanoseconds,
// alloc_objects/count and alloc_space/bytes) are one event with its count; each other type is an event of its own.
extern const Format kPprof;

// Whether the fields by which a profile is recognised do not end with `beginning`: only what follows can tell.
bool ends_within_first_fields_of_pprof(base::Bytes beginning);

}  // namespace tephra::formats
