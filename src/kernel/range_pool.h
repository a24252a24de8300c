#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>

namespace tephra::kernel {

// Hands out ranges of places 0 … size-1 of a map that programs in the kernel read without a lock. A range that was
// given back is handed out again only after a time in which every program that could still look at it has ended.
class RangePool {
 public:
  using Clock = std::chrono::steady_clock;

  RangePool(uint32_t size, Clock::duration grace);

  // The first place of `count`, or nothing when no such range is free. `count` 0 takes none.
  std::optional<uint32_t> take(uint32_t count, Clock::time_point now);
  void give_back(uint32_t first, uint32_t count, Clock::time_point now);

  uint32_t taken() const { return taken_; }

 private:
  struct Resting {
    Clock::time_point until;
    uint32_t first;
    uint32_t count;
  };
  void wake(Clock::time_point now);
  void add_free(uint32_t first, uint32_t count);

  Clock::duration grace_;
  std::map<uint32_t, uint32_t> free_;  // first → count; neighbours are joined
  std::deque<Resting> resting_;        // oldest first
  uint32_t taken_ = 0;
};

}  // namespace tephra::kernel
