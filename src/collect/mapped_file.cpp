#include "collect/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include "base/located_file.h"

namespace tephra::collect {
namespace {

base::FileDescriptor open_if(const base::FileDescriptor& handle, uint64_t inode) {
  struct stat info {};
  if (!handle || ::fstat(handle.get(), &info) != 0 || info.st_ino != inode) return {};
  return base::open_located(handle);
}

}  // namespace

base::FileDescriptor open_plain_file(const std::string& path) { return base::open_located(base::locate(path)); }

std::optional<base::FileDescriptor> open_mapped_file(pid_t tid, uint64_t start, uint64_t end, uint64_t inode,
                                                     std::string_view path) {
  // The link in map_files leads to deleted and replaced files too, but needs rights. It is there for any thread, though
  // not among those of /proc/PID/task.
  if (auto fd = open_if(base::locate(fmt::format("/proc/{}/map_files/{:x}-{:x}", tid, start, end)), inode)) return fd;
  const base::FileDescriptor root(::open(fmt::format("/proc/{}/root", tid).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root) return {};
  if (auto fd = open_if(base::locate_below(root.get(), std::string(path)), inode)) return fd;
  return {};
}

}  // namespace tephra::collect
