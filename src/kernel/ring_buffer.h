#pragma once

#include <linux/perf_event.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/bytes.h"

namespace tephra::kernel {

// Record bytes that wait in a ring, oldest first. They are in two parts where they wrap around the ring's end; a record
// may be split between the parts, an aligned 8-byte word never is.
struct Pending {
  std::array<base::Bytes, 2> parts;
  uint64_t head = 0;  // where the pending bytes end; give it to RingBuffer::release

  size_t size() const { return parts[0].size() + parts[1].size(); }
  // The word at `offset` from the oldest byte; a multiple of 8 below size().
  uint64_t word(size_t offset) const {
    const bool wrapped = offset >= parts[0].size();
    return base::load<uint64_t>(wrapped ? parts[1].data() + (offset - parts[0].size()) : parts[0].data() + offset);
  }
  // Of the record at `offset`, by its header; 0 where no whole record is.
  size_t record_size(size_t offset) const {
    if (offset + sizeof(perf_event_header) > size()) return 0;
    const size_t bytes = word(offset) >> 48;
    return bytes < sizeof(perf_event_header) || bytes > size() - offset ? 0 : bytes;
  }
  // Copies out bytes that lie within size().
  void copy(size_t offset, std::byte* to, size_t count) const;
};

// The whole records of a ring that is written backwards and overwrites itself, newest first: the kernel lets `head`
// fall from 0, and records are read forwards from there. `ring` is all its memory, a power of two. The oldest record,
// of which a part may be overwritten, is left out.
Pending whole_records(base::Bytes ring, uint64_t head);

// Comes back when every record that was begun before the call is finished. After pause_output this makes the memory of
// the paused rings stand still; a record under way on another CPU at that time is not stopped by it. Takes some
// milliseconds, so call it once for all rings.
void wait_for_writers();

// The memory a perf event writes its records to, shared with the kernel. One reader, no locks.
class RingBuffer {
 public:
  RingBuffer() = default;
  RingBuffer(RingBuffer&& other) noexcept;
  RingBuffer& operator=(RingBuffer&& other) noexcept;
  ~RingBuffer();

  // Maps the ring of an open event; `bytes` is a power of two of at least a page. False: errno says why.
  bool map(int event_fd, size_t bytes);
  // The same for an event with write_backward: the kernel overwrites the oldest records and never waits for us.
  // Use snapshot(), not pending() and release().
  bool map_overwritten(int event_fd, size_t bytes);

  size_t capacity() const { return capacity_; }
  // What the kernel has finished writing and we have not released.
  Pending pending() const;
  // Gives the space up to `head` back to the kernel.
  void release(uint64_t head);
  // The whole records of an overwritten ring, newest first. They stay as they are while output to the ring is paused
  // (see wait_for_writers); else the oldest of them may be overwritten at any moment.
  Pending snapshot() const;

 private:
  bool map(int event_fd, size_t bytes, bool writable);

  perf_event_mmap_page* control_ = nullptr;
  const std::byte* data_ = nullptr;
  size_t capacity_ = 0;
};

}  // namespace tephra::kernel
