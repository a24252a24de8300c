#pragma once

#include "formats/format.h"

namespace tephra::formats {

// Lock contention as text: "--- contentionz 1 ---" of gperftools, "--- mutex:" and "--- contention:" of Go
// (/debug/pprof/mutex?debug=1).
extern const Format kContentionz;

}  // namespace tephra::formats
