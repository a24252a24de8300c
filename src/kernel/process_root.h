#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "base/file.h"

namespace tephra::kernel {

// A process as its files have to be looked for: its root folder, which stays reachable when the process has ended, and
// the ids that it knows itself by.
struct ProcessRoot {
  base::FileDescriptor folder;
  pid_t inner_pid = 0;  // in its own namespace of process ids
  uid_t user = 0;
  gid_t group = 0;
  int64_t begun_ns = 0;  // time of day when the process began
};

// Nothing when it is gone or not ours to look at.
std::optional<ProcessRoot> open_process_root(pid_t pid);

// Our own root, for a process that is gone and had the same root and user.
std::optional<ProcessRoot> own_root(pid_t pid);

}  // namespace tephra::kernel
