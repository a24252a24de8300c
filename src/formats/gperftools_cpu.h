#pragma once

#include "formats/format.h"

namespace tephra::formats {

// The binary CPU profiles of gperftools (CPUPROFILE=) and of Go before 1.7: machine words, and the text of
// /proc/self/maps behind them.
extern const Format kGperftoolsCpu;

}  // namespace tephra::formats
