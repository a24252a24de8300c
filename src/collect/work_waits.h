#pragma once

#include <poll.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "collect/ring_set.h"

namespace tephra::collect {

// Waits until a ring is a quarter full, someone wants something, or a time is over.
class WorkWaits {
 public:
  // `others`: descriptors beside those of the rings. `walked`: that of samples walked in the kernel. They, and records of
  // rings that wake us promptly, would come one by one, so both are looked at only after a short rest, in which they
  // gather.
  void wait(const RingSet& rings, std::vector<pollfd> others, std::optional<int> walked, double seconds);

  // How often it has come back.
  uint64_t wakeups() const { return wakeups_; }

 private:
  void add_rings(const RingSet& rings, std::vector<pollfd>& waits) const;
  void leave_out_gone(const std::vector<pollfd>& waits, size_t begin);

  std::vector<int> gone_rings_;  // descriptors that would wake us without end
  uint64_t wakeups_ = 0;
};

}  // namespace tephra::collect
