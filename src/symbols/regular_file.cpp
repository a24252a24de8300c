#include "symbols/regular_file.h"

#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include <fmt/format.h>

#include "base/located_file.h"

namespace tephra::symbols {
namespace {

// Several times the largest program with debug information in the field; a sparse file may claim any size.
constexpr off_t kLargest = off_t{32} << 30;

// File systems whose files are what the kernel says at the moment: endless, consumed by reading, or slow to make.
constexpr std::array<uint32_t, 14> kMadeUp{PROC_SUPER_MAGIC,   SYSFS_MAGIC,         TRACEFS_MAGIC,    DEBUGFS_MAGIC,
                                           CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC, SECURITYFS_MAGIC, BPF_FS_MAGIC,
                                           NSFS_MAGIC,         PSTOREFS_MAGIC,      EFIVARFS_MAGIC,   SELINUX_MAGIC,
                                           BINFMTFS_MAGIC,     DEVPTS_SUPER_MAGIC};

bool is_made_up(int fd) {
  struct statfs info {};
  if (::fstatfs(fd, &info) != 0) return true;
  return std::ranges::find(kMadeUp, static_cast<uint32_t>(info.f_type)) != kMadeUp.end();
}

// FileContent would read what it cannot map.
bool can_be_mapped(int fd) {
  void* const first = ::mmap(nullptr, 1, PROT_READ, MAP_PRIVATE, fd, 0);
  if (first == MAP_FAILED) return false;
  ::munmap(first, 1);
  return true;
}

Refusal judge(int fd, const struct stat& info) {
  if (!S_ISREG(info.st_mode)) return Refusal::kNotRegular;
  if (is_made_up(fd)) return Refusal::kNotStored;
  if (info.st_size <= 0) return Refusal::kEmpty;
  if (info.st_size > kLargest) return Refusal::kImplausibleSize;
  return Refusal::kNone;
}

base::Error error_of(Refusal refusal, const std::string& name, const struct stat& info) {
  const auto refused = [&](std::string why) {
    return base::failed("cannot open", name, "not used: " + std::move(why));
  };
  switch (refusal) {
    case Refusal::kNotRegular:
      return refused("it is not a regular file");
    case Refusal::kNotStored:
      return refused("it is not a stored file");
    case Refusal::kEmpty:
      return refused("it is empty");
    case Refusal::kImplausibleSize:
      return refused(fmt::format("it is implausibly large ({} bytes)", info.st_size));
    default:
      return refused("it cannot be mapped");
  }
}

}  // namespace

base::Result<RegularContent> content_of_regular(int fd, const std::string& name, Refusal* refusal) {
  Refusal ignored{};
  Refusal& why = refusal != nullptr ? *refusal : ignored;
  why = Refusal::kNone;
  struct stat info {};
  if (::fstat(fd, &info) != 0) return base::system_error("cannot open", name, errno);
  why = judge(fd, info);
  if (why == Refusal::kNone && !can_be_mapped(fd)) why = Refusal::kCannotBeMapped;
  if (why != Refusal::kNone) return error_of(why, name, info);
  TEPHRA_TRY(base::FileContent content, base::FileContent::from_descriptor(fd, name));
  return RegularContent(std::move(content), info.st_uid);
}

base::Result<RegularContent> open_regular(const std::string& path, Refusal* refusal) {
  // Merely opening a device can do something (a watchdog starts), so what is there is looked at first. The second open
  // is of the same file, whatever the path leads to by then.
  if (refusal != nullptr) *refusal = Refusal::kNone;
  const base::FileDescriptor place = base::locate(path);
  if (!place) return base::system_error("cannot open", path, errno);
  struct stat info {};
  if (::fstat(place.get(), &info) != 0) return base::system_error("cannot open", path, errno);
  if (S_ISDIR(info.st_mode)) return base::system_error("cannot open", path, EISDIR);
  if (const Refusal why = judge(place.get(), info); why != Refusal::kNone) {
    if (refusal != nullptr) *refusal = why;
    return error_of(why, path, info);
  }
  const base::FileDescriptor fd = base::open_located(place, path);
  if (!fd) return base::system_error("cannot open", path, errno);
  return content_of_regular(fd.get(), path, refusal);
}

bool is_trusted_owner(uid_t owner) { return owner == 0 || owner == ::geteuid(); }

}  // namespace tephra::symbols
