#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "kernel/perf_event.h"
#include "kernel/ring_buffer.h"

namespace tephra::collect {

using Note = std::function<void(const std::string&)>;

// One ring for each CPU, which all events on that CPU write to.
//
// A ring belongs to an event of ours that samples nothing. So it outlives the tasks it tells about, and it can be
// exchanged for a larger one while events write to it.
class RingSet {
 public:
  enum class Kind {
    kDrained,      // the kernel waits for the reader, and drops records when the ring is full
    kOverwritten,  // the kernel never waits; a ring holds the newest records
  };
  struct Size {
    size_t bytes = 0;     // a power of two of at least a page
    bool exact = false;   // an error where that much may not be locked in memory, instead of a smaller ring
    bool prompt = false;  // readers are woken by every record, not when a quarter is full
  };

  RingSet(Kind kind, const kernel::AttrSupport& support, Note note);

  // Makes a ring for each of the CPUs that is online; cpus() are those. `whole_cpus`: the events that will write here
  // count everything on a CPU.
  base::Status open(const std::vector<int>& cpus, bool whole_cpus, Size size);

  std::span<const int> cpus() const { return cpus_; }
  // Of the largest ring.
  size_t bytes() const;
  // The descriptor that stands for the ring of the CPU at `place` in cpus().
  int fd(size_t place) const { return slots_[place].owner.get(); }
  kernel::RingBuffer& ring(size_t place) { return slots_[place].ring; }
  const kernel::RingBuffer& ring(size_t place) const { return slots_[place].ring; }

  // Exchanges a ring for one of twice the size. `redirect` lets every event that writes to it write to the ring of
  // another descriptor instead; where it fails, it is asked to go back. Meanwhile the larger ring, and afterwards the
  // one that is not used any more, is among retired(). False: it may not grow.
  bool grow(size_t place, const std::function<bool(int fd)>& redirect);

  // Rings that were exchanged and may still hold records.
  struct Retired {
    base::FileDescriptor owner;
    kernel::RingBuffer ring;
    int empty_passes = 0;
  };
  std::deque<Retired>& retired() { return retired_; }

 private:
  struct Slot {
    base::FileDescriptor owner;
    kernel::RingBuffer ring;
  };

  base::FileDescriptor open_owner(int cpu, size_t bytes) const;
  bool map(kernel::RingBuffer& ring, int fd, size_t bytes) const;
  // All rings with this size; the errno of the one that could not be mapped, or 0.
  base::Result<int> open_all(const std::vector<int>& cpus, size_t bytes);

  Kind kind_;
  kernel::AttrSupport support_;
  Note note_;
  bool whole_cpus_ = false;
  bool prompt_ = false;
  std::vector<int> cpus_;
  std::vector<Slot> slots_;
  std::deque<Retired> retired_;
};

}  // namespace tephra::collect
