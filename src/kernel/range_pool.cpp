#include "kernel/range_pool.h"

#include <iterator>

namespace tephra::kernel {

RangePool::RangePool(uint32_t size, Clock::duration grace) : grace_(grace) {
  if (size > 0) free_.emplace(0, size);
}

std::optional<uint32_t> RangePool::take(uint32_t count, Clock::time_point now) {
  wake(now);
  if (count == 0) return 0;
  for (auto it = free_.begin(); it != free_.end(); ++it) {
    if (it->second < count) continue;
    const uint32_t first = it->first;
    const uint32_t left = it->second - count;
    free_.erase(it);
    if (left > 0) free_.emplace(first + count, left);
    taken_ += count;
    return first;
  }
  return {};
}

void RangePool::give_back(uint32_t first, uint32_t count, Clock::time_point now) {
  if (count == 0) return;
  taken_ -= count;
  resting_.push_back({now + grace_, first, count});
}

void RangePool::wake(Clock::time_point now) {
  while (!resting_.empty() && resting_.front().until <= now) {
    add_free(resting_.front().first, resting_.front().count);
    resting_.pop_front();
  }
}

void RangePool::add_free(uint32_t first, uint32_t count) {
  auto next = free_.lower_bound(first);
  if (next != free_.end() && next->first == first + count) {
    count += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == first) {
      before->second += count;
      return;
    }
  }
  free_.emplace(first, count);
}

}  // namespace tephra::kernel
