#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/file.h"

namespace tephra::kernel {

// A regular file whose path another program chose, open for reading.
struct ForeignFile {
  base::FileDescriptor fd;
  uid_t owner = 0;
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t size = 0;
  int64_t changed_ns = 0;  // time of day of the last write
};

// Opens `path` without doing anything to what is not a regular file: neither a FIFO nor a device is ever opened, and
// the last part of the path is no symbolic link. With `root` (a folder, or -1) the path and the links on its way are
// looked up below that folder, as a process sees them whose root it is; where the kernel cannot do that (before 5.6),
// links to absolute paths are followed from our own root.
std::optional<ForeignFile> open_foreign_file(const std::string& path, int root = -1);

// The same facts again; false where they cannot be had.
bool refresh(ForeignFile& file);

// Reads up to `size` bytes at `offset` and appends them; what was read may be less.
bool append_from(const ForeignFile& file, uint64_t offset, size_t size, std::string& out);

}  // namespace tephra::kernel
