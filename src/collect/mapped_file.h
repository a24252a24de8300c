#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/file.h"

namespace tephra::collect {

// Opens the file behind a mapping of a process, only when it is still the same one. Nothing but files is opened: a pipe
// would hold us, and a device may act on it. `tid` is any thread of the process: once the first has ended it shows
// neither memory nor folders.
std::optional<base::FileDescriptor> open_mapped_file(pid_t tid, uint64_t start, uint64_t end, uint64_t inode,
                                                     std::string_view path);

// Opens a path only if a plain file is there, without waiting for anybody.
base::FileDescriptor open_plain_file(const std::string& path);

}  // namespace tephra::collect
