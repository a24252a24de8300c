#include "collect/recent_losses.h"

namespace tephra::collect {
namespace {

// What was lost within so long is one entry, so that there are few however often it happens.
constexpr uint64_t kTogetherNs = 100'000'000;

}  // namespace

void RecentLosses::add(uint64_t time, uint64_t count) {
  if (count == 0) return;
  total_ += count;
  if (losses_.empty() || time - losses_.back().time >= kTogetherNs) {
    losses_.push_back({time, count});
  } else {
    losses_.back().count += count;
  }
}

void RecentLosses::forget_before(uint64_t time) {
  while (!losses_.empty() && losses_.front().time < time) {
    total_ -= losses_.front().count;
    losses_.pop_front();
  }
}

}  // namespace tephra::collect
