#pragma once

#include <string>

#include "base/bytes.h"
#include "base/result.h"

namespace tephra::formats {

// A perf.data file of a machine with the other byte order, as this machine would have written it: header, attributes,
// records and the sections that are read. What is inside tracepoints and copies of stacks stays as it is. Compressed
// recordings are refused.
base::Result<std::string> in_host_order(base::Bytes file);

}  // namespace tephra::formats
