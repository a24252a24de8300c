#pragma once

#include "formats/format.h"

namespace tephra::formats {

// What bcc's profile, offcputime and the like print without -f: frames, "-  COMM (PID)", a number, an empty line.
extern const Format kBccStacks;

}  // namespace tephra::formats
