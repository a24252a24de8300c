#pragma once

#include <linux/perf_event.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "collect/event_plan.h"
#include "collect/perf_data_writer.h"
#include "collect/ring_set.h"
#include "kernel/perf_event.h"
#include "kernel/stack_program.h"

namespace tephra::collect {

// The open events of a recording, and the rings they write to.
//
// An inherited event must be tied to a CPU to have a ring, so a task has one of each event per CPU.
class EventSet {
 public:
  // `plan[0]` carries the records about processes. Kernel samples that we have no right to are left out where the
  // user did not ask for them by name; `note` is told.
  EventSet(std::vector<PlannedEvent> plan, const kernel::AttrSupport& support, Note note);

  // Lets the program take the samples of those events that are planned so. It must outlive the events.
  void walk_stacks_with(kernel::StackProgram* program) { program_ = program; }
  // Why the kernel did not let the program take the samples of an event; attaching failed then.
  const std::optional<base::Error>& walk_refusal() const { return walk_refusal_; }
  // Makes the rings; `whole_cpus`: the events will count everything on the CPUs.
  base::Status open_rings(const std::vector<int>& cpus, bool whole_cpus, RingSet::Size size);

  // Opens all events on everything that runs on the CPUs, or on a control group.
  base::Status attach_everything();
  base::Status attach_cgroup(int folder_fd);
  // Opens the events on a task, but for the first `inherited` of them that it has from its parent, counted in the
  // order in which they are opened: each event on each CPU. False: the task is gone.
  base::Result<bool> attach_task(pid_t tid, size_t inherited = 0);

  // Copies of stacks of another size, which the kernel takes only when an event is opened. Between renew() and one of
  // the next two, attaching opens the events that sample once more, switched off, with copies of this size.
  // The plan must have a tracking event, which stays.
  void renew(uint32_t stack_bytes);
  // Those opened last take the place of those before, which are closed. On each CPU the old ones are switched off and
  // then the new ones on: no moment is sampled twice, and what is missed is what the old ones had counted since their
  // last sample, less than a period for each task and CPU, and what happens between these calls, some microseconds for
  // each event.
  void exchange();
  // Those opened last are closed; all is as before renew().
  void give_up();

  // Closes the events of tasks that have ended and left no children, so that a long recording keeps its descriptors.
  void close_ended();

  // How many of a task's events had been opened at `time` (CLOCK_MONOTONIC), which is what a child born then has.
  // Nothing: the task is not attached. Forgotten by forget_opening().
  std::optional<size_t> opened_before(pid_t tid, uint64_t time) const;
  void forget_opening() { opening_.clear(); }

  // Lets the events count; tasks attached from now on begin at once.
  void enable();
  // All events, also that which tells about processes.
  void disable();
  // Only those that sample.
  void pause();
  // Those of one name; false: there is none.
  bool enable_only(const std::string& name, bool on);

  RingSet& rings() { return rings_; }
  const RingSet& rings() const { return rings_; }
  // Rings that keep the newest records. Null unless the plan has such events.
  RingSet* flight_rings() { return flight_rings_ ? &*flight_rings_ : nullptr; }
  // Exchanges the ring of a CPU for a larger one. The kernel takes some ten milliseconds for each event that writes to
  // it; `meanwhile` is called after each, to drain the rings. False: it may not grow.
  bool grow_ring(size_t place, const std::function<void()>& meanwhile);

  // A descriptor that hangs up when the task attached last ends.
  int last_task_fd() const { return last_task_fd_; }
  // The events as the file describes them; ids of tasks attached meanwhile are in it.
  std::vector<FileEvent> file_events() const;
  const std::vector<PlannedEvent>& plan() const { return plan_; }
  // The first id of the event that tells about processes.
  uint64_t side_band_id() const;
  // Records the kernel found no room for, over all events; 0 where the kernel does not count them.
  uint64_t lost() const;

  // An event that had to share its counter with others.
  struct SharedCounter {
    std::string name;
    double share = 0;  // of the time it could have counted, how much it did; 0: never
  };
  // Empty also where it cannot be told: tasks that are watched on some CPUs alone.
  std::vector<SharedCounter> shared_counters() const;

 private:
  struct Opened {
    base::FileDescriptor fd;  // invalid: closed since
    uint64_t id = 0;
    uint32_t place = 0;  // of its CPU in the rings
  };
  // Whom to attach to; the CPU is added.
  struct Whom {
    pid_t tid = -1;
    int cgroup_fd = -1;
  };

  // What renew() has begun.
  struct Renewal {
    std::vector<perf_event_attr> attrs;  // per event, as they were
    std::vector<size_t> first_new;       // per event: place in opened_
  };

  struct CounterTimes {
    uint64_t enabled_ns = 0;
    uint64_t running_ns = 0;
    bool failed = false;
    void add(const kernel::EventCount& count);
  };

  base::Result<bool> attach(const Whom& whom, size_t inherited);
  base::Result<base::FileDescriptor> open_one(PlannedEvent& event, const kernel::EventScope& scope, int leader_fd);
  base::Status connect(const PlannedEvent& event, int fd, size_t place);
  bool without_kernel(PlannedEvent& event, int error_number);
  base::Status walk(size_t index, int fd, uint64_t id);
  bool on_cpu(const PlannedEvent& event, size_t place) const;
  // Switches the old events of a CPU off, then the new ones on.
  void exchange_at(size_t place);
  // Closes an event, and keeps what it counted.
  void retire(size_t index, Opened& event);

  std::vector<PlannedEvent> plan_;
  kernel::AttrSupport support_;
  Note note_;
  kernel::StackProgram* program_ = nullptr;
  std::optional<base::Error> walk_refusal_;
  bool whole_cpus_ = false;
  bool said_without_kernel_ = false;
  std::vector<bool> on_;  // per event: counts; tasks attached to from now on begin at once
  std::optional<Renewal> renewal_;
  uint32_t largest_copy_ = 0;
  RingSet rings_;
  std::optional<RingSet> flight_rings_;
  std::vector<std::vector<Opened>> opened_;         // per event
  std::map<pid_t, std::vector<uint64_t>> opening_;  // when each event of a task was open
  uint64_t lost_by_closed_ = 0;
  std::vector<CounterTimes> times_of_closed_;  // per event
  int last_task_fd_ = -1;
};

}  // namespace tephra::collect
