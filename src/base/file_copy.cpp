#include "base/file_copy.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <vector>

namespace tephra::base {
namespace {

constexpr uint64_t kPage = 4096;
// Several times the largest program in the field; a sparse file may claim any size.
constexpr off_t kLargest = off_t{32} << 30;
constexpr const char* kWhat = "cannot copy a file";

}  // namespace

struct FileCopy::State {
  State(int from, size_t bytes, std::byte* place)
      : fd(from), size(bytes), memory(place), there((bytes + kPage - 1) / kPage) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { ::munmap(memory, size); }

  void read(uint64_t offset, uint64_t end) {
    while (offset < end) {
      const ssize_t got = ::pread(fd, memory + offset, end - offset, static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return;
      offset += static_cast<uint64_t>(got);
    }
  }

  int fd;
  size_t size;
  std::byte* memory;
  std::mutex mutex;         // guards what follows, and the memory while it is filled
  std::vector<bool> there;  // by page
  uint64_t pages_read = 0;
};

FileCopy::FileCopy(std::unique_ptr<State> state) : state_(std::move(state)) {}
FileCopy::FileCopy(FileCopy&&) noexcept = default;
FileCopy& FileCopy::operator=(FileCopy&&) noexcept = default;
FileCopy::~FileCopy() = default;

Result<FileCopy> FileCopy::of(int fd) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return system_error(kWhat, {}, errno);
  if (!S_ISREG(info.st_mode) || info.st_size <= 0) return failed(kWhat, {}, "it is not a regular file with content");
  if (info.st_size > kLargest) return failed(kWhat, {}, "it is implausibly large");
  const auto size = static_cast<size_t>(info.st_size);
  void* const memory =
      ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return system_error(kWhat, {}, errno);
  return FileCopy(std::make_unique<State>(fd, size, static_cast<std::byte*>(memory)));
}

Bytes FileCopy::bytes() const { return {state_->memory, state_->size}; }

uint64_t FileCopy::bytes_read() const {
  const std::lock_guard lock(state_->mutex);
  return state_->pages_read * kPage;
}

void FileCopy::need(uint64_t offset, uint64_t size) const {
  State& state = *state_;
  if (size == 0 || offset >= state.size) return;
  const uint64_t last = (offset + std::min<uint64_t>(size, state.size - offset) - 1) / kPage;
  const std::lock_guard lock(state.mutex);
  uint64_t page = offset / kPage;
  while (page <= last && state.pages_read < kMostRead / kPage) {
    if (state.there[page]) {
      ++page;
      continue;
    }
    const uint64_t first = page;
    for (; page <= last && !state.there[page] && state.pages_read < kMostRead / kPage; ++page) {
      state.there[page] = true;
      ++state.pages_read;
    }
    state.read(first * kPage, std::min<uint64_t>(page * kPage, state.size));
  }
}

}  // namespace tephra::base
