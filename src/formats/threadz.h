#pragma once

#include "formats/format.h"

namespace tephra::formats {

// The stacks of all threads as text: "--- threadz 1 ---", or from its first thread on.
extern const Format kThreadz;

}  // namespace tephra::formats
