#include "kernel/foreign_file.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace tephra::kernel {
namespace {

// A handle on whatever is at the path, which is not opened by it.
base::FileDescriptor locate(const std::string& path, int root) {
  constexpr int kFlags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
  if (root < 0) return base::FileDescriptor(::open(path.c_str(), kFlags));
  open_how how{};
  how.flags = kFlags;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  const long fd = ::syscall(SYS_openat2, root, path.c_str(), &how, sizeof how);
  if (fd >= 0 || errno != ENOSYS) return base::FileDescriptor(static_cast<int>(fd));
  const size_t begin = path.find_first_not_of('/');
  if (begin == std::string::npos) return {};
  return base::FileDescriptor(::openat(root, path.c_str() + begin, kFlags));
}

}  // namespace

bool refresh(ForeignFile& file) {
  struct stat status {};
  if (::fstat(file.fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  file.owner = status.st_uid;
  file.device = status.st_dev;
  file.inode = status.st_ino;
  file.size = static_cast<uint64_t>(status.st_size);
  file.changed_ns = int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
  return true;
}

std::optional<ForeignFile> open_foreign_file(const std::string& path, int root) {
  ForeignFile file{.fd = locate(path, root)};
  if (!file.fd || !refresh(file)) return std::nullopt;
  // The same file and nothing else, whatever has become of the path.
  const std::string handle = "/proc/self/fd/" + std::to_string(file.fd.get());
  file.fd.reset(::open(handle.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!file.fd || !refresh(file)) return std::nullopt;
  return file;
}

bool append_from(const ForeignFile& file, uint64_t offset, size_t size, std::string& out) {
  const size_t before = out.size();
  out.resize(before + size);
  size_t done = 0;
  ssize_t got = 0;
  while (done < size) {
    got = ::pread(file.fd.get(), out.data() + before + done, size - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += static_cast<size_t>(got);
  }
  out.resize(before + done);
  return got >= 0;
}

}  // namespace tephra::kernel
