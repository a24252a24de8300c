#pragma once

#include "formats/format.h"

namespace tephra::formats {

// Files that tell about generated code, and hold no samples. They are known so that the error can say what they are.
extern const Format kJitdump;
extern const Format kPerfMap;

}  // namespace tephra::formats
