#include "collect/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <array>
#include <utility>

namespace tephra::collect {

base::FileDescriptor open_plain_file(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return {};
  return base::FileDescriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
}

std::optional<MappedFile> open_mapped_file(pid_t pid, uint64_t start, uint64_t end, uint64_t inode,
                                           std::string_view path) {
  // The link in map_files leads to deleted and replaced files too, but needs rights.
  std::array places{fmt::format("/proc/{}/map_files/{:x}-{:x}", pid, start, end),
                    fmt::format("/proc/{}/root{}", pid, path)};
  for (std::string& place : places) {
    auto fd = open_plain_file(place);
    struct stat info {};
    if (!fd || ::fstat(fd.get(), &info) != 0 || info.st_ino != inode) continue;
    return MappedFile{std::move(fd), std::move(place)};
  }
  return {};
}

}  // namespace tephra::collect
