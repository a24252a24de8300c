#pragma once

#include <cstdint>
#include <deque>

namespace tephra::collect {

// How many records were lost lately: what a snapshot has to tell about the time that it holds.
class RecentLosses {
 public:
  // They were lost until `time`. Times do not go back.
  void add(uint64_t time, uint64_t count);
  void forget_before(uint64_t time);
  uint64_t total() const { return total_; }

 private:
  struct Loss {
    uint64_t time = 0;
    uint64_t count = 0;
  };
  std::deque<Loss> losses_;  // oldest first
  uint64_t total_ = 0;
};

}  // namespace tephra::collect
