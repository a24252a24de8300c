#pragma once

#include "formats/format.h"

namespace tephra::formats {

// Go's counts as text: "goroutine profile: total 7" (/debug/pprof/goroutine?debug=1), threadcreate, and those of
// programs that make their own.
extern const Format kGoCount;

}  // namespace tephra::formats
