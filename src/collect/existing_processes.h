#pragma once

#include <sys/types.h>

#include "base/result.h"
#include "collect/synthesize.h"
#include "collect/target.h"

namespace tephra::collect {

// Tells what existed before a recording of `target`: the kernel, and the processes that its samples may be of.
// `program`: that which is about to begin, 0 for none. `cgroups`: samples carry their control groups.
base::Status describe_existing(const Target& target, pid_t program, bool cgroups, Synthesizer& existing);

}  // namespace tephra::collect
