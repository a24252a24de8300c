#include "kernel/foreign_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/located_file.h"

namespace tephra::kernel {
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
  constexpr auto kLast = base::LastLink::kRefuse;
  ForeignFile file{
      .fd = base::open_located(root < 0 ? base::locate(path, kLast) : base::locate_below(root, path, kLast))};
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
