#pragma once

#include <cstddef>
#include <memory_resource>

namespace tephra::collect {

// Memory for containers that counts what they have.
class CountingMemory : public std::pmr::memory_resource {
 public:
  size_t bytes() const { return bytes_; }

 private:
  void* do_allocate(size_t bytes, size_t alignment) override {
    void* memory = std::pmr::new_delete_resource()->allocate(bytes, alignment);
    bytes_ += bytes;
    return memory;
  }
  void do_deallocate(void* memory, size_t bytes, size_t alignment) override {
    bytes_ -= bytes;
    std::pmr::new_delete_resource()->deallocate(memory, bytes, alignment);
  }
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }

  size_t bytes_ = 0;
};

}  // namespace tephra::collect
