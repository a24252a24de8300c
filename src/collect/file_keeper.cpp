#include "collect/file_keeper.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include <fmt/format.h>

#include "base/located_file.h"
#include "collect/elf_build_id.h"
#include "kernel/privileges.h"
#include "kernel/procfs.h"
#include "stream/records.h"
#include "symbols/file_finder.h"

namespace tephra::collect {
namespace {

constexpr uint16_t kMiscBuildId = 1 << 14;
constexpr uint64_t kMostBytes = uint64_t{16} << 30;
// Of those that are left beside events and output.
constexpr size_t kMostFiles = 4096;
constexpr size_t kMostParents = 1 << 16;
constexpr size_t kMostFailures = 1 << 14;
constexpr unsigned kMostTries = 4;
constexpr int kMostGenerations = 8;
constexpr std::string_view kDeleted = " (deleted)";

// Layered file systems show programs another device than the kernel tells; the inode is that of the file either way.
bool same_inode(const struct stat& info, const model::FileIdentity& identity) { return info.st_ino == identity.inode; }

}  // namespace

FileKeeper::Settings FileKeeper::usual_settings() {
  return {.most_files = std::min<size_t>(kMostFiles, kernel::open_file_limit() / 4), .most_bytes = kMostBytes};
}

bool FileKeeper::wants(uint32_t type) {
  return type == PERF_RECORD_MMAP2 || type == PERF_RECORD_FORK || type == PERF_RECORD_EXIT;
}

void FileKeeper::see_all(base::Bytes records) {
  stream::RecordWalker walker(records);
  for (stream::Record record; walker.next(record);) see(record.bytes);
}

void FileKeeper::see(base::Bytes record) {
  if (record.size() < sizeof(perf_event_header) + 16) return;
  const auto type = base::load<uint32_t>(record.data());
  if (type == PERF_RECORD_MMAP2) {
    Mapped mapped;
    if (parse(record, mapped)) keep(mapped);
    return;
  }
  if (type != PERF_RECORD_FORK && type != PERF_RECORD_EXIT) return;
  const auto pid = base::load<pid_t>(record.data() + 8);
  const auto parent = base::load<pid_t>(record.data() + 12);
  if (pid == parent) return;  // a thread
  if (type == PERF_RECORD_FORK && parents_.size() < kMostParents) parents_.insert_or_assign(pid, parent);
  // Records of other CPUs that the process wrote before its end may still come; its number stays until it is reused.
}

bool FileKeeper::parse(base::Bytes record, Mapped& mapped) {
  base::ByteReader reader(record);
  reader.skip(4);
  const uint16_t misc = reader.u16();
  reader.skip(2);
  mapped.pid = reader.read<pid_t>();
  reader.skip(4);
  mapped.start = reader.u64();
  mapped.end = mapped.start + reader.u64();
  reader.skip(8);
  base::ByteReader identity(reader.bytes(24));
  const auto protection = reader.u32();
  reader.skip(4);
  if (!reader.ok() || (protection & PROT_EXEC) == 0) return false;
  mapped.path = base::until_nul(reader.bytes(reader.remaining()));
  // Memory without a file has names too: [vdso], //anon, /dev/zero, /memfd:NAME.
  if (!mapped.path.starts_with('/') || mapped.path.starts_with("//")) return false;
  if (misc & kMiscBuildId) {
    const size_t size = std::min<size_t>(identity.u8(), model::BuildId::kMostBytes);
    identity.skip(3);
    mapped.build_id = model::BuildId(identity.bytes(size));
    return !mapped.build_id.empty();
  }
  const uint64_t major = identity.u32();
  const uint64_t minor = identity.u32();
  mapped.identity = {major << 32 | minor, identity.u64(), identity.u64()};
  return mapped.identity.inode != 0;
}

FileKeeper::Key FileKeeper::key_of(const Mapped& mapped) {
  return {mapped.build_id, {mapped.identity.device, mapped.identity.inode}};
}

void FileKeeper::keep(const Mapped& mapped) {
  const bool known = mapped.build_id.empty() ? files_.contains(mapped.identity) : files_.contains(mapped.build_id);
  if (known) return;
  const Key key = key_of(mapped);
  if (files_.size() >= settings_.most_files) {
    if (over_limit_.size() < kMostFailures) over_limit_.insert(key);
    return;
  }
  if (!may_open_now()) {
    if (over_limit_.size() < kMostFailures) over_limit_.insert(key);
    return;
  }
  const auto failed = failures_.find(key);
  if (failed != failures_.end()) {
    Failure& failure = failed->second;
    if (failure.last_pid == mapped.pid || failure.tries >= kMostTries) return;
    failure.last_pid = mapped.pid;
    ++failure.tries;
  }
  base::FileDescriptor fd = open(mapped);
  if (!fd) {
    if (failed == failures_.end() && failures_.size() < kMostFailures) failures_.emplace(key, Failure{mapped.pid, 1});
    return;
  }
  if (failed != failures_.end()) failures_.erase(failed);
  over_limit_.erase(key);
  if (mapped.build_id.empty()) {
    files_.add(mapped.identity, std::move(fd));
  } else {
    files_.add(mapped.build_id, std::move(fd));
  }
}

bool FileKeeper::may_open_now() {
  const auto now = std::chrono::steady_clock::now();
  if (now - second_begun_ >= std::chrono::seconds(1)) {
    second_begun_ = now;
    opens_ = 0;
  }
  return ++opens_ <= settings_.most_opens;
}

base::FileDescriptor FileKeeper::open(const Mapped& mapped) const {
  if (auto fd = open_in_memory_of(mapped)) return fd;
  if (auto fd = open_below_root_of(mapped.pid, mapped)) return fd;
  // A process that has ended already saw the files that its parents see, mostly.
  pid_t ancestor = mapped.pid;
  for (int i = 0; i < kMostGenerations; ++i) {
    ancestor = parent_of(ancestor);
    if (ancestor <= 1) break;
    if (auto fd = open_below_root_of(ancestor, mapped)) return fd;
  }
  std::string path(mapped.path);
  if (path.ends_with(kDeleted)) path.resize(path.size() - kDeleted.size());
  return checked(base::locate(path), mapped);
}

// The very file, also when it has no name any more; needs rights.
base::FileDescriptor FileKeeper::open_in_memory_of(const Mapped& mapped) const {
  const std::string process = fmt::format("{}/{}", settings_.proc, mapped.pid);
  if (auto fd =
          checked(base::locate(fmt::format("{}/map_files/{:x}-{:x}", process, mapped.start, mapped.end)), mapped)) {
    return fd;
  }
  return checked(base::locate(process + "/exe"), mapped);
}

base::FileDescriptor FileKeeper::open_below_root_of(pid_t pid, const Mapped& mapped) const {
  const base::FileDescriptor root(
      ::open(fmt::format("{}/{}/root", settings_.proc, pid).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root) return {};
  return checked(base::locate_below(root.get(), std::string(mapped.path)), mapped);
}

pid_t FileKeeper::parent_of(pid_t pid) const {
  if (const auto known = parents_.find(pid); known != parents_.end()) return known->second;
  const auto status = kernel::task_status(pid);
  return status ? status->ppid : 0;
}

// Opens what `path_only` leads to, if that is the mapped file.
base::FileDescriptor FileKeeper::checked(base::FileDescriptor path_only, const Mapped& mapped) const {
  struct stat info {};
  if (!path_only || ::fstat(path_only.get(), &info) != 0 || !S_ISREG(info.st_mode)) return {};
  if (info.st_size <= 0 || static_cast<uint64_t>(info.st_size) > settings_.most_bytes) return {};
  if (mapped.build_id.empty() && !same_inode(info, mapped.identity)) return {};
  base::FileDescriptor fd = base::open_located(path_only);
  if (!fd) return {};
  if (!mapped.build_id.empty()) {
    const model::BuildId found = build_id_of_file(fd.get());
    if (!symbols::same_build_id(found.bytes(), mapped.build_id.bytes())) return {};
  }
  return fd;
}

FileKeeper::Totals FileKeeper::totals() const { return {files_.size(), over_limit_.size(), failures_.size()}; }

}  // namespace tephra::collect
