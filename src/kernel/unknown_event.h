#pragma once

#include <string>

#include "base/result.h"
#include "kernel/pmus.h"
#include "kernel/tracefs.h"

namespace tephra::kernel {

// The error for a name that no table, PMU or tracepoint has: it offers the nearest of all of them.
base::Error unknown_event(const std::string& name, Pmus& pmus, Tracepoints& tracepoints);

// The error for "NAME/.../" where there is no PMU of that name.
base::Error unknown_pmu(const std::string& name, const std::string& written, Pmus& pmus);

}  // namespace tephra::kernel
