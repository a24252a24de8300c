#pragma once

#include <cstddef>

#include "base/result.h"

namespace tephra::kernel {

// The values of a BPF array (made with BPF_F_MMAPABLE) in our memory.
class BpfMemory {
 public:
  static base::Result<BpfMemory> map(int map_fd, size_t bytes);
  BpfMemory() = default;
  BpfMemory(BpfMemory&& other) noexcept;
  BpfMemory& operator=(BpfMemory&& other) noexcept;
  ~BpfMemory();

  template <class T>
  T* as() const {
    return static_cast<T*>(memory_);
  }
  size_t bytes() const { return bytes_; }

 private:
  void* memory_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace tephra::kernel
