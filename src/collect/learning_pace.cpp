#include "collect/learning_pace.h"

#include <algorithm>

namespace tephra::collect {
namespace {

// For each time that it took, how many more pass before it is done again: a share of 5 %.
constexpr int kPauses = 19;
// At ten times a second this is 1 %.
constexpr std::chrono::milliseconds kCheap{1};
// Not to be exceeded whatever there is to learn, since code that came meanwhile is not walked.
constexpr std::chrono::seconds kLongest{10};

}  // namespace

void LearningPace::learnt(pid_t pid, std::chrono::nanoseconds cost, Clock::time_point now) {
  if (cost < kCheap) return forget(pid);
  pauses_[pid] = now + std::min<Clock::duration>(cost * kPauses, kLongest);
}

LearningPace::Clock::time_point LearningPace::not_before(pid_t pid) const {
  const auto found = pauses_.find(pid);
  return found == pauses_.end() ? Clock::time_point::min() : found->second;
}

}  // namespace tephra::collect
