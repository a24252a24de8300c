#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>

namespace tephra::collect {

// Keeps what is spent on learning the mappings of a process, again and again as they change, to a small share of a CPU:
// where it takes long, it is done less often.
class LearningPace {
 public:
  using Clock = std::chrono::steady_clock;

  // The process was learnt, which took so much CPU time, and will the next time, too.
  void learnt(pid_t pid, std::chrono::nanoseconds cost, Clock::time_point now);
  // When it may be learnt next; a time that has passed where there is nothing to wait for.
  Clock::time_point not_before(pid_t pid) const;
  // It has ended, or is another program by now.
  void forget(pid_t pid) { pauses_.erase(pid); }
  void forget_all() { pauses_.clear(); }

 private:
  std::map<pid_t, Clock::time_point> pauses_;
};

}  // namespace tephra::collect
