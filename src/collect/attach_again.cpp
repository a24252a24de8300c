#include "collect/attach_again.h"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "base/clock.h"
#include "kernel/privileges.h"

namespace tephra::collect {
namespace {

// A program that forks without end is left to inheritance after so many looks.
constexpr int kMostLooks = 20;
// Opening takes some ten microseconds for each event, and rings must be drained meanwhile.
constexpr size_t kTasksBetweenDrains = 32;

base::Status check_descriptors(const EventSet& events, size_t tasks) {
  const size_t needed = (tasks + 1) * events.plan().size() * events.rings().cpus().size() + 128;
  const unsigned long allowed = kernel::open_file_limit();
  if (needed <= allowed) return {};
  return base::failed(fmt::format("cannot attach to {} threads again", tasks), "",
                      fmt::format("that takes {} descriptors, and {} are allowed", needed, allowed),
                      fmt::format("Run 'ulimit -n {}' first.", needed));
}

using Reached = std::set<std::pair<pid_t, uint64_t>>;  // numbers with the time of birth

base::Status attach_one(EventSet& events, LiveTasks& tasks, const LiveTasks::Task& task, Reached& reached) {
  const size_t inherited = events.opened_before(task.parent, task.birth).value_or(0);
  TEPHRA_TRY(const bool alive, events.attach_task(task.tid, inherited));
  if (alive) return {};
  tasks.forget(task.tid);
  // A thread that execs takes the number of the process's first, whose end was told.
  if (task.pid == task.tid || tasks.contains(task.pid)) return {};
  TEPHRA_TRY(const bool goes_on, events.attach_task(task.pid));
  if (!goes_on) return {};
  const uint64_t now = base::monotonic_ns();
  tasks.attached(task.pid, task.pid, now);
  reached.emplace(task.pid, now);
  return {};
}

}  // namespace

base::Status attach_again(EventSet& events, LiveTasks& tasks, const std::function<base::Status()>& hear) {
  Reached reached;
  for (int look = 0; look < kMostLooks; ++look) {
    TEPHRA_CHECK_OK(hear());
    TEPHRA_CHECK_OK(check_descriptors(events, tasks.size()));
    size_t found = 0;
    for (const LiveTasks::Task& task : tasks.all()) {
      if (!reached.emplace(task.tid, task.birth).second) continue;
      TEPHRA_CHECK_OK(attach_one(events, tasks, task, reached));
      if (++found % kTasksBetweenDrains == 0) TEPHRA_CHECK_OK(hear());
    }
    if (found == 0) break;
  }
  return {};
}

}  // namespace tephra::collect
