#pragma once

#include <string>

#include "base/result.h"
#include "model/profile.h"

namespace tephra::formats {

// A profile as a perf.data file that perf, hotspot and tephra read. Each row is one sample whose period is the row's
// value; how many samples it stands for is its weight. Names, lines, facts and what is missing are in sections of our
// own, so that reading the file gives the profile again. docs/convert.md tells what others see of it.
base::Result<std::string> write_perf_data(const model::Profile& profile);

}  // namespace tephra::formats
