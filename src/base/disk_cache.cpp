#include "base/disk_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
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
  std::array<char, 32> padding{};
};
static_assert(sizeof(Header) == 64);

constexpr std::array<char, 8> kMagic = {'T', 'E', 'P', 'H', 'C', 'A', 'C', 'H'};

// Deletes entries, the one that was used longest ago first, until `limit` bytes are left.
void delete_beyond(const std::string& folder, uint64_t limit) {
  struct File {
    std::filesystem::file_time_type time;
    uint64_t size;
    std::filesystem::path path;
  };
  std::vector<File> files;
  uint64_t total = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    std::error_code gone;
    const uint64_t size = entry.file_size(gone);
    if (gone) continue;
    files.push_back({entry.last_write_time(gone), size, entry.path()});
    total += size;
  }
  if (total <= limit) return;
  std::ranges::sort(files, {}, &File::time);
  for (const File& file : files) {
    if (total <= limit) break;
    std::error_code gone;
    std::filesystem::remove(file.path, gone);
    total -= file.size;
  }
}

bool is_word(std::string_view text) {
  return !text.empty() && text.size() <= 128 && std::ranges::all_of(text, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '-';
  });
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

std::string DiskCache::path_of(std::string_view kind, std::string_view key) const {
  if (folder_.empty() || !is_word(kind) || !is_word(key)) return {};
  return folder_ + "/" + std::string(kind) + "/" + std::string(key);
}

std::optional<DiskCache::Entry> DiskCache::find(std::string_view kind, std::string_view key, uint32_t version) const {
  const std::string path = path_of(kind, key);
  if (path.empty()) return std::nullopt;
  const FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat info {};
  if (!fd || ::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  if (info.st_uid != ::geteuid() || static_cast<uint64_t>(info.st_size) < sizeof(Header)) return std::nullopt;
  auto file = FileContent::from_descriptor(fd.get(), path);
  if (!file || file->bytes().size() < sizeof(Header)) return std::nullopt;
  Entry entry(std::move(file).value());
  const auto header = load<Header>(entry.file_.bytes().data());
  entry.content_ = entry.file_.bytes().subspan(sizeof(Header));
  if (header.magic != kMagic || header.version != version || header.size != entry.content_.size()) return std::nullopt;
  if (header.checksum != hash_bytes(entry.content_, version)) return std::nullopt;
  // The time tells delete_beyond what is used; a failure costs nothing.
  ::futimens(fd.get(), nullptr);
  return entry;
}

Status DiskCache::store(std::string_view kind, std::string_view key, uint32_t version, Bytes content,
                        uint64_t kind_limit) const {
  const std::string path = path_of(kind, key);
  if (path.empty()) return failed("cannot store", std::string(key), "there is no cache folder");
  const std::string folder = path.substr(0, path.rfind('/'));
  TEPHRA_CHECK_OK(make_folder(folder));
  Header header;
  header.magic = kMagic;
  header.version = version;
  header.size = content.size();
  header.checksum = hash_bytes(content, version);
  std::string temporary = folder + "/new-XXXXXX";
  FileDescriptor fd(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!fd) return system_error("cannot write", path, errno);
  auto status = write_all(fd.get(), Bytes(reinterpret_cast<const std::byte*>(&header), sizeof header), path);
  if (status) status = write_all(fd.get(), content, path);
  if (status && ::rename(temporary.c_str(), path.c_str()) != 0) status = system_error("cannot write", path, errno);
  if (!status) {
    ::unlink(temporary.c_str());
    return status;
  }
  delete_beyond(folder, kind_limit);
  return {};
}

}  // namespace tephra::base
