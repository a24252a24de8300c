#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "collect/ring_scan.h"

namespace tephra::collect {

// The tasks that have the events of a recording now: those that were attached to, and those that inherited them. Known
// by the records of births and ends, since a child whose parent has ended is not found by its parents in /proc any
// more.
class LiveTasks {
 public:
  struct Task {
    pid_t tid = 0;
    pid_t pid = 0;
    pid_t parent = 0;    // the thread that started it; 0: was attached to
    uint64_t birth = 0;  // in the records' clock
  };

  // Was attached to by us; `time`: an end that was recorded before was another's.
  void attached(pid_t tid, pid_t pid, uint64_t time = 0) { tasks_.emplace(tid, Task{tid, pid, 0, time}); }
  // What records told since the last call. Rings are read one after the other, so an end may be heard before its birth.
  void heard(std::span<const TaskIds> born, std::span<const TaskIds> ended);
  // Could not be found any more.
  void forget(pid_t tid) { tasks_.erase(tid); }
  bool contains(pid_t tid) const { return tasks_.contains(tid); }

  // Parents before those that they started.
  std::vector<Task> all() const;
  size_t size() const { return tasks_.size(); }

 private:
  void drop_old_ends();

  std::map<pid_t, Task> tasks_;
  std::map<pid_t, uint64_t> ends_;  // when those ended of whom a birth may be heard yet
  uint64_t newest_end_ = 0;
};

}  // namespace tephra::collect
