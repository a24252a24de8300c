#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace tephra::cli {

// The kinds of branches that `record -j` names, such as "any_call,u", as PERF_SAMPLE_BRANCH_* bits.
base::Result<uint64_t> parse_branch_types(std::string_view text);

}  // namespace tephra::cli
