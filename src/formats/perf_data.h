#pragma once

#include "formats/format.h"

namespace tephra::formats {

// perf.data of perf, simpleperf and tephra: file and pipe mode, compressed or not. Reads in part what was cut off.
extern const Format kPerfData;

}  // namespace tephra::formats
