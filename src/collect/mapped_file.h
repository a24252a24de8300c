#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/file.h"

namespace tephra::collect {

struct MappedFile {
  base::FileDescriptor fd;
  std::string path;  // below /proc/PID, valid as long as the process has it mapped
};

// Opens the file behind a mapping of a process, only when it is still the same one. Nothing but files is opened: a pipe
// would hold us, and a device may act on it.
std::optional<MappedFile> open_mapped_file(pid_t pid, uint64_t start, uint64_t end, uint64_t inode,
                                           std::string_view path);

// Opens a path only if a plain file is there, without waiting for anybody.
base::FileDescriptor open_plain_file(const std::string& path);

}  // namespace tephra::collect
