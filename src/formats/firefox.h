#pragma once

#include "formats/format.h"

namespace tephra::formats {

// JSON of the Firefox Profiler: its processed format of any version, and the Gecko format that Firefox and simpleperf
// write. Written in the processed format.
extern const Format kFirefox;

}  // namespace tephra::formats
