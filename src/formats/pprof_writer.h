#pragma once

#include <string>

#include "base/result.h"
#include "model/profile.h"

namespace tephra::formats {

// Writes profile.proto, compressed by gzip as its readers expect it. Samples that agree in stack, thread and labels are
// one with a value of each event. Whose they are is in the labels pid, tid and comm.
base::Result<std::string> write_pprof(const model::Profile& profile);

}  // namespace tephra::formats
