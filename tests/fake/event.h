#pragma once

#include <linux/perf_event.h>
#include <sys/types.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ring.h"

namespace tephra::fake {

// What an event counted for one task, or, with the task -1, for a CPU.
struct Share {
  uint64_t stream_id = 0;
  double count = 0;
  uint64_t enabled_ns = 0;
  uint64_t running_ns = 0;
  double since_sample = 0;
  uint64_t samples_in_tick = 0;
  bool throttled = false;
  bool exited = false;  // the task is gone; what it counted stays
  pid_t last_pid = 0;   // what ran when it counted last
  pid_t last_tid = 0;
  int last_cpu = 0;
};

// An open event.
struct Event {
  int fd = -1;
  uint64_t inode = 0;  // of the descriptor, to notice that it was closed
  int peer = -1;       // the machine's end of the descriptor
  perf_event_attr attr{};
  pid_t tid = -1;  // -1: everything on `cpu`
  int cpu = -1;
  std::string cgroup;  // the folder, for an event of a control group
  uint64_t id = 0;
  bool enabled = false;
  bool error = false;  // pinned, and there was no room
  bool enable_on_exec = false;
  bool hung_up = false;
  std::string filter;
  uint64_t lost = 0;
  std::shared_ptr<Ring> ring;  // its own, or another event's
  bool maps_ring = false;      // it is its own, and somebody has it mapped
  bool signalled = false;      // the reader was woken and has not looked yet
  uint64_t tail_when_signalled = 0;

  std::weak_ptr<Event> leader;                // nothing: it leads itself
  std::vector<std::weak_ptr<Event>> members;  // of the group it leads, without itself
  std::map<pid_t, Share> shares;              // the task and, where inherited, its descendants

  bool task_event() const { return tid >= 0; }
  uint64_t period(double rate) const {
    if (!attr.freq) return attr.sample_period;
    return std::max<uint64_t>(1, static_cast<uint64_t>(rate * 1e9 / static_cast<double>(attr.sample_freq)));
  }
};

}  // namespace tephra::fake
