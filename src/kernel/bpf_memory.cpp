#include "kernel/bpf_memory.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include <utility>

namespace tephra::kernel {

base::Result<BpfMemory> BpfMemory::map(int map_fd, size_t bytes) {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  BpfMemory result;
  result.bytes_ = (bytes + page - 1) / page * page;
  void* memory = ::mmap(nullptr, result.bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, map_fd, 0);
  if (memory == MAP_FAILED) return base::system_error("cannot map the memory of a BPF program", {}, errno);
  result.memory_ = memory;
  return result;
}

BpfMemory::BpfMemory(BpfMemory&& other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

BpfMemory& BpfMemory::operator=(BpfMemory&& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

BpfMemory::~BpfMemory() {
  if (memory_ != nullptr) ::munmap(memory_, bytes_);
}

}  // namespace tephra::kernel
