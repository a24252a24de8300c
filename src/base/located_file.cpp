#include "base/located_file.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

namespace tephra::base {
namespace {

int flags_for(LastLink last) { return O_PATH | O_CLOEXEC | (last == LastLink::kRefuse ? O_NOFOLLOW : 0); }

bool same_file(const FileDescriptor& a, const FileDescriptor& b) {
  struct stat first {};
  struct stat second {};
  return ::fstat(a.get(), &first) == 0 && ::fstat(b.get(), &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

}  // namespace

FileDescriptor locate(const std::string& path, LastLink last) {
  return FileDescriptor(::open(path.c_str(), flags_for(last)));
}

FileDescriptor locate_below(int root, const std::string& path, LastLink last) {
  open_how how{};
  how.flags = static_cast<uint64_t>(flags_for(last));
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  const long fd = ::syscall(SYS_openat2, root, path.c_str(), &how, sizeof how);
  if (fd >= 0 || errno != ENOSYS) return FileDescriptor(static_cast<int>(fd));
  const size_t begin = path.find_first_not_of('/');
  if (begin == std::string::npos) return {};
  return FileDescriptor(::openat(root, path.c_str() + begin, flags_for(last)));
}

FileDescriptor open_located(const FileDescriptor& handle) {
  struct stat info {};
  if (!handle || ::fstat(handle.get(), &info) != 0) return {};
  if (!S_ISREG(info.st_mode)) {
    errno = S_ISDIR(info.st_mode) ? EISDIR : EINVAL;
    return {};
  }
  const std::string path = "/proc/self/fd/" + std::to_string(handle.get());
  return FileDescriptor(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

FileDescriptor open_located(const FileDescriptor& handle, const std::string& path) {
  FileDescriptor fd = open_located(handle);
  // The entry of an open descriptor is always there, even if its file was deleted.
  if (fd || !handle || errno != ENOENT) return fd;
  std::error_code error;
  const std::filesystem::path resolved = std::filesystem::canonical(path, error);
  if (error) {
    errno = error.value();
    return {};
  }
  fd.reset(::open(resolved.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC));
  if (fd && !same_file(fd, handle)) {
    fd.reset();
    errno = ESTALE;
  }
  return fd;
}

}  // namespace tephra::base
