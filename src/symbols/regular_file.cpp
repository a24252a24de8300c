#include "symbols/regular_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include <fmt/format.h>

namespace tephra::symbols {
namespace {

// Several times the largest program with debug information in the field; a sparse file may claim any size.
constexpr off_t kLargest = off_t{32} << 30;
constexpr const char* kRefused = "not used: ";

}  // namespace

base::Result<base::FileContent> content_of_regular(int fd, const std::string& name) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return base::system_error("cannot open", name, errno);
  const auto refuse = [&](std::string why) { return base::failed("cannot open", name, kRefused + std::move(why)); };
  if (!S_ISREG(info.st_mode)) return refuse("it is not a regular file");
  if (info.st_size > kLargest) return refuse(fmt::format("it is implausibly large ({} bytes)", info.st_size));
  return base::FileContent::from_descriptor(fd, name);
}

base::Result<base::FileContent> open_regular(const std::string& path) {
  // Merely opening a device can do something (a watchdog starts), so what is there is looked at first. The second open
  // is of the same file, whatever the path leads to by then.
  const base::FileDescriptor place(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!place) return base::system_error("cannot open", path, errno);
  struct stat info {};
  if (::fstat(place.get(), &info) != 0) return base::system_error("cannot open", path, errno);
  if (S_ISDIR(info.st_mode)) return base::system_error("cannot open", path, EISDIR);
  if (!S_ISREG(info.st_mode))
    return base::failed("cannot open", path, std::string(kRefused) + "it is not a regular file");
  const base::FileDescriptor fd(
      ::open(fmt::format("/proc/self/fd/{}", place.get()).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd) return base::system_error("cannot open", path, errno);
  return content_of_regular(fd.get(), path);
}

bool is_refusal(const base::Error& error) { return error.why.starts_with(kRefused); }

}  // namespace tephra::symbols
