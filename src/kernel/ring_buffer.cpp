#include "kernel/ring_buffer.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "kernel/perf_calls.h"

namespace tephra::kernel {
namespace {

size_t page_size() {
  static const auto size = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  return size;
}

}  // namespace

void Pending::copy(size_t offset, std::byte* to, size_t count) const {
  const size_t first = offset < parts[0].size() ? std::min(count, parts[0].size() - offset) : 0;
  if (first > 0) std::copy_n(parts[0].data() + offset, first, to);
  if (first < count) std::copy_n(parts[1].data() + (offset + first - parts[0].size()), count - first, to + first);
}

Pending whole_records(base::Bytes ring, uint64_t head) {
  const size_t begin = head & (ring.size() - 1);
  const auto written = static_cast<size_t>(std::min<uint64_t>(0 - head, ring.size()));
  const size_t first = std::min(written, ring.size() - begin);
  Pending all{{ring.subspan(begin, first), ring.first(written - first)}, head};
  size_t whole = 0;
  for (size_t size = 0; (size = all.record_size(whole)) > 0 && size % sizeof(uint64_t) == 0;) whole += size;
  all.parts[0] = all.parts[0].first(std::min(whole, first));
  all.parts[1] = all.parts[1].first(whole - all.parts[0].size());
  return all;
}

void wait_for_writers() {
  // The kernel writes a record within one read-side section of RCU, and this call waits for all that have begun.
  if (::syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) == 0) return;
  // Not offered with nohz_full. A record is written in microseconds, by code that cannot be preempted.
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

RingBuffer::RingBuffer(RingBuffer&& other) noexcept { *this = std::move(other); }

RingBuffer& RingBuffer::operator=(RingBuffer&& other) noexcept {
  std::swap(control_, other.control_);
  std::swap(data_, other.data_);
  std::swap(capacity_, other.capacity_);
  return *this;
}

RingBuffer::~RingBuffer() {
  if (control_ != nullptr) calls::unmap_ring(control_, capacity_);
}

bool RingBuffer::map(int event_fd, size_t bytes) { return map(event_fd, bytes, true); }

bool RingBuffer::map_overwritten(int event_fd, size_t bytes) { return map(event_fd, bytes, false); }

bool RingBuffer::map(int event_fd, size_t bytes, bool writable) {
  void* memory = calls::map_ring(event_fd, bytes, writable);
  if (memory == nullptr) return false;
  control_ = static_cast<perf_event_mmap_page*>(memory);
  data_ = static_cast<const std::byte*>(memory) + page_size();
  capacity_ = bytes;
  return true;
}

Pending RingBuffer::pending() const {
  // Pairs with the kernel's release of data_head: the records below it are whole.
  const uint64_t head = __atomic_load_n(&control_->data_head, __ATOMIC_ACQUIRE);
  const uint64_t tail = control_->data_tail;
  const auto size = static_cast<size_t>(head - tail);
  const size_t begin = tail & (capacity_ - 1);
  const size_t first = std::min(size, capacity_ - begin);
  return {{base::Bytes(data_ + begin, first), base::Bytes(data_, size - first)}, head};
}

Pending RingBuffer::snapshot() const {
  const uint64_t head = __atomic_load_n(&control_->data_head, __ATOMIC_ACQUIRE);
  return whole_records(base::Bytes(data_, capacity_), head);
}

void RingBuffer::release(uint64_t head) {
  // Our reads of the records must be done before the kernel may overwrite them.
  __atomic_store_n(&control_->data_tail, head, __ATOMIC_RELEASE);
}

}  // namespace tephra::kernel
