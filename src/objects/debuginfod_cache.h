#pragma once

#include <string>
#include <string_view>

#include "base/bytes.h"

namespace tephra::objects {

// Where elfutils' client keeps what it fetched, by its rules: $DEBUGINFOD_CACHE_PATH, ~/.debuginfod_client_cache if
// that is there, $XDG_CACHE_HOME/debuginfod_client, ~/.cache/debuginfod_client.
std::string debuginfod_cache_folder();

// The client takes a request that was broken off for the answer that there is no such file, and remembers it as an
// empty one. Deletes that; a file with content stays. `name` is what was asked for: "debuginfo" or "executable".
void forget_absence(const std::string& cache_folder, base::Bytes build_id, std::string_view name);

}  // namespace tephra::objects
