#pragma once

#include <linux/perf_event.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "collect/perf_data_writer.h"
#include "kernel/event_names.h"
#include "kernel/perf_event.h"
#include "kernel/ring_buffer.h"

namespace tephra::collect {

using Note = std::function<void(const std::string&)>;

// An event to open on every task and CPU of a recording.
struct PlannedEvent {
  kernel::EventSpec spec;
  perf_event_attr attr{};
};

// The open events of a recording and one ring per CPU that all of them write to.
//
// An inherited event must be tied to a CPU to have a ring, so a task has one of each event per CPU. A ring belongs to
// an event that outlives the tasks: that of the CPU itself, or a dummy event of our own thread.
class EventSet {
 public:
  // `events[0]` carries the records about processes. Kernel samples that we have no right to are left out where the
  // user did not ask for them by name; `note` is told.
  EventSet(std::vector<PlannedEvent> events, std::vector<int> cpus, const kernel::AttrSupport& support, Note note);

  // Makes the rings; `whole_cpus`: the events will count everything on the CPUs. A ring that may not be locked in
  // memory is made smaller unless `exact`.
  base::Status open_rings(bool whole_cpus, size_t ring_bytes, bool exact);
  // Opens all events on a task. False: the task is gone.
  base::Result<bool> attach(pid_t tid);

  void enable();
  void disable();

  std::span<kernel::RingBuffer> rings() { return rings_; }
  std::span<const int> ring_fds() const { return ring_fds_; }
  size_t ring_bytes() const { return rings_.empty() ? 0 : rings_[0].capacity(); }
  // A descriptor that hangs up when `tid`, the task attached last, ends.
  int last_task_fd() const { return last_task_fd_; }
  // The events as the file describes them.
  std::vector<FileEvent> file_events() const;
  // The first id of the event that tells about processes.
  uint64_t side_band_id() const;
  // Threads that were started by an attached one, so that their events were inherited; seen in records not yet
  // released.
  std::set<pid_t> inherited_threads() const;
  // Records the kernel found no room for, over all events; 0 where the kernel does not count them.
  uint64_t lost() const;

 private:
  struct Opened {
    base::FileDescriptor fd;
    uint64_t id = 0;
  };

  base::Result<base::FileDescriptor> open_one(PlannedEvent& event, pid_t tid, int cpu);
  bool without_kernel(PlannedEvent& event, int error_number);
  base::Status map_ring(int fd, size_t ring_bytes, bool exact);
  base::Error explain(const PlannedEvent& event, pid_t tid, int error_number) const;

  std::vector<PlannedEvent> events_;
  std::vector<int> cpus_;
  kernel::AttrSupport support_;
  Note note_;
  bool whole_cpus_ = false;
  bool said_without_kernel_ = false;
  std::vector<std::vector<Opened>> opened_;        // per event
  std::vector<base::FileDescriptor> ring_owners_;  // our own dummies; empty with whole CPUs
  std::vector<int> ring_fds_;
  std::vector<kernel::RingBuffer> rings_;
  int last_task_fd_ = -1;
};

}  // namespace tephra::collect
