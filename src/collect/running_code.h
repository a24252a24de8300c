#pragma once

#include "collect/walked_processes.h"

namespace tephra::collect {

// The processes of this machine as the in-kernel unwinder is told about them: mappings by /proc, call-frame tables by
// the files behind them and this user's disk cache.
WalkedProcesses::Sources running_code();

}  // namespace tephra::collect
