#include "symbols/regular_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include <fmt/format.h>

#include "base/located_file.h"

namespace tephra::symbols {
namespace {

// Several times the largest program with debug information in the field; a sparse file may claim any size.
constexpr off_t kLargest = off_t{32} << 30;
constexpr const char* kRefused = "not used: ";

}  // namespace

base::Result<RegularContent> content_of_regular(int fd, const std::string& name) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return base::system_error("cannot open", name, errno);
  const auto refuse = [&](std::string why) { return base::failed("cannot open", name, kRefused + std::move(why)); };
  if (!S_ISREG(info.st_mode)) return refuse("it is not a regular file");
  if (info.st_size > kLargest) return refuse(fmt::format("it is implausibly large ({} bytes)", info.st_size));
  TEPHRA_TRY(base::FileContent content, base::FileContent::from_descriptor(fd, name));
  return RegularContent(std::move(content), info.st_uid);
}

base::Result<RegularContent> open_regular(const std::string& path) {
  const base::FileDescriptor place = base::locate(path);
  if (!place) return base::system_error("cannot open", path, errno);
  const base::FileDescriptor fd = base::open_located(place);
  if (!fd && errno == EINVAL)
    return base::failed("cannot open", path, std::string(kRefused) + "it is not a regular file");
  if (!fd) return base::system_error("cannot open", path, errno);
  return content_of_regular(fd.get(), path);
}

bool is_trusted_owner(uid_t owner) { return owner == 0 || owner == ::geteuid(); }

bool is_refusal(const base::Error& error) { return error.why.starts_with(kRefused); }

}  // namespace tephra::symbols
