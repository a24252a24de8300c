#include "base/disk_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "base/hash.h"

namespace tephra::base {
namespace {

struct Header {
  std::array<char, 8> magic{};
  uint32_t version = 0;
  uint32_t reserved = 0;
  uint64_t size = 0;
  uint64_t checksum = 0;
  uint64_t name = 0;  // a hash of kind and key: an entry under another's name is none
  std::array<char, 24> padding{};
};
static_assert(sizeof(Header) == 64);

constexpr std::array<char, 8> kMagic = {'T', 'E', 'P', 'H', 'C', 'A', 'C', 'H'};
constexpr std::string_view kTemporary = "new-";

bool is_word(std::string_view text) {
  return !text.empty() && text.size() <= 128 &&
         std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '-'; });
}

bool is_key(std::string_view text) {
  return is_word(text) && text.find_first_not_of("0123456789abcdef-") == std::string_view::npos;
}

bool is_temporary(std::string_view name) {
  if (!name.starts_with(kTemporary) || name.size() == kTemporary.size() || name.size() > 32) return false;
  return std::ranges::all_of(name.substr(kTemporary.size()), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  });
}

std::string temporary_name() {
  uint64_t number = 0;
  if (::getrandom(&number, sizeof number, GRND_NONBLOCK) != sizeof number) number = static_cast<uint64_t>(::getpid());
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%s%016llx", kTemporary.data(), static_cast<unsigned long long>(number));
  return text.data();
}

uint64_t hash_of_name(std::string_view kind, std::string_view key) {
  return hash_bytes(as_bytes(key), hash_bytes(as_bytes(kind), 1));
}

bool is_own(const struct stat& info) { return info.st_uid == ::geteuid(); }

// A folder of this user, that a link does not lead to: in any other one, others decide what is read and deleted.
FileDescriptor open_folder(int at, const char* name) {
  FileDescriptor fd(::openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info {};
  if (fd && (::fstat(fd.get(), &info) != 0 || !is_own(info))) {
    fd.reset();
    errno = EPERM;
  }
  return fd;
}

// Deletes entries, the one that was used longest ago first, until `limit` bytes are left. What is not ours is neither
// counted nor deleted. The bytes that are left.
uint64_t delete_beyond(int folder, uint64_t limit) {
  struct File {
    timespec time;
    uint64_t size;
    std::string name;
  };
  // The listing has a descriptor, and thus a position, of its own.
  FileDescriptor listed(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(::fdopendir(listed.get()), ::closedir);
  if (!listing) return 0;
  listed.release();
  std::vector<File> files;
  uint64_t total = 0;
  while (const dirent* const entry = ::readdir(listing.get())) {
    const std::string_view name = entry->d_name;
    struct stat info {};
    if (!is_key(name) && !is_temporary(name)) continue;
    if (::fstatat(folder, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (!S_ISREG(info.st_mode) || !is_own(info)) continue;
    files.push_back({info.st_mtim, static_cast<uint64_t>(info.st_size), std::string(name)});
    total += files.back().size;
  }
  if (total <= limit) return total;
  std::ranges::sort(files, [](const File& a, const File& b) {
    return a.time.tv_sec != b.time.tv_sec ? a.time.tv_sec < b.time.tv_sec : a.time.tv_nsec < b.time.tv_nsec;
  });
  for (const File& file : files) {
    if (total <= limit) break;
    ::unlinkat(folder, file.name.c_str(), 0);
    total -= file.size;
  }
  return total;
}

Status write_entry(int fd, const Header& header, Bytes content, const std::string& name) {
  TEPHRA_CHECK_OK(write_all(fd, Bytes(reinterpret_cast<const std::byte*>(&header), sizeof header), name));
  return write_all(fd, content, name);
}

}  // namespace

DiskCache DiskCache::of_user() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value != nullptr ? value : "");
  };
  if (!variable("TEPHRA_NO_CACHE").empty()) return DiskCache("");
  // A relative path in XDG_CACHE_HOME is invalid and to be ignored.
  if (const std::string xdg = variable("XDG_CACHE_HOME"); xdg.starts_with('/')) return DiskCache(xdg + "/tephra");
  if (const std::string home = variable("HOME"); home.starts_with('/')) return DiskCache(home + "/.cache/tephra");
  return DiskCache("");
}

FileDescriptor DiskCache::folder_of(std::string_view kind, std::string_view key) const {
  if (folder_.empty() || !is_word(kind) || !is_key(key)) return FileDescriptor();
  const FileDescriptor root = open_folder(AT_FDCWD, folder_.c_str());
  return root ? open_folder(root.get(), std::string(kind).c_str()) : FileDescriptor();
}

std::optional<DiskCache::Entry> DiskCache::find(std::string_view kind, std::string_view key, uint32_t version) const {
  const FileDescriptor folder = folder_of(kind, key);
  if (!folder) return std::nullopt;
  const std::string name(key);
  const FileDescriptor fd(
      ::openat(folder.get(), name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  struct stat info {};
  if (!fd || ::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  if (!is_own(info) || static_cast<uint64_t>(info.st_size) < sizeof(Header)) return std::nullopt;
  auto file = FileContent::from_descriptor(fd.get(), name);
  if (!file || file->bytes().size() < sizeof(Header)) return std::nullopt;
  Entry entry(std::move(file).value());
  const auto header = load<Header>(entry.file_.bytes().data());
  entry.content_ = entry.file_.bytes().subspan(sizeof(Header));
  if (header.magic != kMagic || header.version != version || header.size != entry.content_.size()) return std::nullopt;
  if (header.name != hash_of_name(kind, key)) return std::nullopt;
  if (header.checksum != hash_bytes(entry.content_, version)) return std::nullopt;
  // The time tells delete_beyond what is used; a failure costs nothing.
  ::futimens(fd.get(), nullptr);
  return entry;
}

FileDescriptor DiskCache::make_folder_of(const std::string& kind) const {
  if (!make_folder(folder_)) return FileDescriptor();
  const FileDescriptor root = open_folder(AT_FDCWD, folder_.c_str());
  if (!root) return FileDescriptor();
  ::mkdirat(root.get(), kind.c_str(), 0777);
  return open_folder(root.get(), kind.c_str());
}

Status DiskCache::store(std::string_view kind, std::string_view key, uint32_t version, Bytes content,
                        uint64_t kind_limit) const {
  const std::string name(key);
  if (folder_.empty() || !is_word(kind) || !is_key(key)) {
    return failed("cannot store", name, "there is no cache folder");
  }
  const FileDescriptor folder = make_folder_of(std::string(kind));
  if (!folder) return system_error("cannot use the cache folder", folder_ + "/" + std::string(kind), errno);
  Header header;
  header.magic = kMagic;
  header.version = version;
  header.size = content.size();
  header.checksum = hash_bytes(content, version);
  header.name = hash_of_name(kind, key);
  const std::string temporary = temporary_name();
  const FileDescriptor fd(
      ::openat(folder.get(), temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd) return system_error("cannot write", name, errno);
  auto status = write_entry(fd.get(), header, content, name);
  if (status && ::renameat(folder.get(), temporary.c_str(), folder.get(), name.c_str()) != 0) {
    status = system_error("cannot write", name, errno);
  }
  if (!status) {
    ::unlinkat(folder.get(), temporary.c_str(), 0);
    return status;
  }
  limit(folder.get(), kind, sizeof header + content.size(), kind_limit);
  return {};
}

// Listing a folder of thousands of entries takes longer than storing one, so it is done only when it may be too full.
void DiskCache::limit(int folder, std::string_view kind, uint64_t stored, uint64_t kind_limit) const {
  constexpr uint64_t kUnseenShare = 16;  // of the limit, what other processes may have stored meanwhile
  const std::lock_guard guard(account_->mutex);
  const auto [place, first] = account_->kinds.try_emplace(std::string(kind));
  Account::Kind& known = place->second;
  known.stored += stored;
  const bool may_be_full = known.found + known.stored > kind_limit || known.stored > kind_limit / kUnseenShare;
  if (first || may_be_full) known = {delete_beyond(folder, kind_limit), 0};
}

}  // namespace tephra::base
