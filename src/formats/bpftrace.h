#pragma once

#include "formats/format.h"

namespace tephra::formats {

// What bpftrace prints of maps whose keys are stacks: "@[\n    frame+12\n    frame\n, comm]: 5".
extern const Format kBpftrace;

}  // namespace tephra::formats
