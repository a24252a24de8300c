#pragma once

#include "formats/format.h"

namespace tephra::formats {

// CPU profiles of V8: Chrome, node and Deno (.cpuprofile).
extern const Format kChromeProfile;

// Trace events of Chrome, node, Perfetto and many others: spans as stacks of each thread, and V8's samples among them.
extern const Format kChromeTrace;

}  // namespace tephra::formats
