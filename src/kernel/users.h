#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"

namespace tephra::kernel {

// A user by name or number; a name of digits alone is a name first. Unknown names are usage errors with those that are
// near.
base::Result<uid_t> user_id(const std::string& text);

// The processes whose effective user this is, which is how perf selects them: the owner of /proc/PID. Ascending.
std::vector<pid_t> processes_of_user(uid_t user);

}  // namespace tephra::kernel
