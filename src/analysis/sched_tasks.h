#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "base/number_hash.h"
#include "stream/recording.h"
#include "stream/sched_events.h"

namespace tephra::analysis {

// Who the threads of a recording are: their names, processes and parents, as far as records told up to now.
class SchedTasks {
 public:
  // Reads the records about processes, which tell of threads that existed before; for a thread that takes other names
  // later, the first one counts here.
  explicit SchedTasks(const stream::Recording& recording);

  void note(const stream::Origin& origin);
  void note(const stream::SchedTask& task);
  void note_fork(const stream::SchedFork& fork);

  // -1: not told.
  int32_t pid(int32_t tid) const;
  int32_t parent(int32_t tid) const;
  // ":TID" where no name was told; "[idle]" for the idle tasks.
  std::string comm(int32_t tid) const;

 private:
  struct Task {
    int32_t pid = -1;
    int32_t parent = -1;
    std::string comm;
  };
  std::unordered_map<int32_t, Task, base::NumberHash> tasks_;
};

}  // namespace tephra::analysis
