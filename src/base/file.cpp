#include "base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <filesystem>

#include <fmt/format.h>

namespace tephra::base {
namespace {

// Reads until the end of the file, or until more than `limit` bytes came.
Result<std::string> read_to_end(int fd, const std::string& name, size_t limit, FileContent::Judge judge = {}) {
  constexpr size_t kStep = 64 << 10;
  std::string text;
  size_t used = 0;
  for (;;) {
    // One byte more than the limit tells that there is more.
    if (text.size() - used < kStep) text.resize(std::min(text.size() * 2 + kStep, limit + 1));
    const ssize_t got = ::read(fd, text.data() + used, text.size() - used);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error("cannot read", name, errno);
    if (got == 0) break;
    used += static_cast<size_t>(got);
    if (used > limit) return failed("cannot read", name, fmt::format("it is larger than {} bytes", limit));
    if (judge && used > FileContent::kJudgedBeginning) {
      TEPHRA_CHECK_OK(judge(as_bytes(text).first(FileContent::kJudgedBeginning)));
      judge = {};
    }
  }
  text.resize(used);
  return text;
}

}  // namespace

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
  if (this != &other) reset(other.release());
  return *this;
}

int FileDescriptor::release() { return std::exchange(fd_, -1); }

void FileDescriptor::reset(int fd) {
  if (fd_ >= 0) ::close(fd_);
  fd_ = fd;
}

size_t most_in_memory() {
  constexpr size_t kEnough = size_t{8} << 30;
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page_size = ::sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page_size <= 0) return kEnough;
  return std::min(kEnough, static_cast<size_t>(pages) * static_cast<size_t>(page_size) / 4);
}

Result<FileContent> FileContent::open(const std::string& path, const Judge& judge) {
  if (path == "-") return from_descriptor(STDIN_FILENO, "standard input", judge);
  FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return system_error("cannot open", path, errno);
  return from_descriptor(fd.get(), path, judge);
}

Result<FileContent> FileContent::from_descriptor(int fd, const std::string& name, const Judge& judge) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return system_error("cannot open", name, errno);
  if (S_ISDIR(info.st_mode)) return system_error("cannot open", name, EISDIR);
  FileContent content;
  if (S_ISREG(info.st_mode) && info.st_size > 0) {
    const auto size = static_cast<size_t>(info.st_size);
    void* mapping = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (mapping != MAP_FAILED) {
      content.mapping_ = mapping;
      content.mapping_size_ = size;
      content.bytes_ = Bytes(static_cast<const std::byte*>(mapping), size);
      return content;
    }
    // As many mappings as there may be: to hold whole files in memory instead would only make it worse.
    if (errno == ENOMEM) return system_error("cannot map", name, errno);
  }
  TEPHRA_TRY(content.owned_, read_to_end(fd, name, most_in_memory(), judge));
  content.bytes_ = as_bytes(content.owned_);
  return content;
}

FileContent FileContent::from_string(std::string text) {
  FileContent content;
  content.owned_ = std::move(text);
  content.bytes_ = as_bytes(content.owned_);
  return content;
}

FileContent::FileContent(FileContent&& other) noexcept { *this = std::move(other); }

FileContent& FileContent::operator=(FileContent&& other) noexcept {
  if (this == &other) return *this;
  if (mapping_ != nullptr) ::munmap(mapping_, mapping_size_);
  mapping_ = std::exchange(other.mapping_, nullptr);
  mapping_size_ = std::exchange(other.mapping_size_, 0);
  owned_ = std::move(other.owned_);
  // A moved short string lives elsewhere, so the span is made anew.
  bytes_ = mapping_ != nullptr ? other.bytes_ : as_bytes(owned_);
  other.bytes_ = {};
  return *this;
}

FileContent::~FileContent() {
  if (mapping_ != nullptr) ::munmap(mapping_, mapping_size_);
}

// For the whole pages of a part.
void FileContent::advise(Bytes part, int advice) const {
  // Memory that is not the mapped file's would lose its content.
  const bool ours = part.data() >= bytes_.data() && part.data() + part.size() <= bytes_.data() + bytes_.size();
  if (mapping_ == nullptr || part.empty() || !ours) return;
  static const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = (reinterpret_cast<uintptr_t>(part.data()) + page - 1) / page * page;
  const auto end = reinterpret_cast<uintptr_t>(part.data() + part.size()) / page * page;
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, advice);
}

void FileContent::forget(Bytes part) const { advise(part, MADV_DONTNEED); }

void FileContent::fetch(Bytes part) const {
#ifdef MADV_POPULATE_READ
  advise(part, MADV_POPULATE_READ);
#else
  advise(part, MADV_WILLNEED);
#endif
}

Result<std::string> read_small_file(const std::string& path, size_t limit) {
  FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd) return system_error("cannot open", path, errno);
  struct stat info {};
  if (::fstat(fd.get(), &info) == 0 && !S_ISREG(info.st_mode)) return failed("cannot read", path, "not a regular file");
  return read_to_end(fd.get(), path, limit);
}

namespace {

// For what must not be replaced by a file: a device, a FIFO. A folder is an error.
Status write_in_place(const std::string& path, std::string_view text) {
  FileDescriptor fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd) return system_error("cannot write", path, errno);
  return write_all(fd.get(), as_bytes(text), path);
}

}  // namespace

Status write_file(const std::string& path, std::string_view text) {
  if (path == "-") return write_all(STDOUT_FILENO, as_bytes(text), "standard output");
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) return write_in_place(path, text);
  static std::atomic<unsigned> sequence{0};
  const std::string temporary = fmt::format("{}.tmp-{}-{}", path, ::getpid(), sequence++);
  FileDescriptor fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!fd) return system_error("cannot write", path, errno);
  auto status = write_all(fd.get(), as_bytes(text), path);
  if (status && ::close(fd.release()) != 0) status = system_error("cannot write", path, errno);
  if (status && ::rename(temporary.c_str(), path.c_str()) != 0) status = system_error("cannot write", path, errno);
  if (!status) ::unlink(temporary.c_str());
  return status;
}

Status write_all(int fd, Bytes bytes, const std::string& name) {
  while (!bytes.empty()) {
    const ssize_t wrote = ::write(fd, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return system_error("cannot write", name, errno);
    bytes = bytes.subspan(static_cast<size_t>(wrote));
  }
  return {};
}

Status make_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return failed("cannot make the folder", path, error.message());
  return {};
}

}  // namespace tephra::base
