#pragma once

#include <linux/perf_event.h>
#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/file.h"

namespace tephra::kernel {

// The attribute size towards the kernel and in files. Readers refuse files with a larger one than they know (perf 6.1
// refuses 136), and no field beyond this one is used.
inline constexpr uint32_t kAttrSize = PERF_ATTR_SIZE_VER5;

// perf_event_attr with the size set and everything else off.
perf_event_attr empty_attr();

// Whom an event counts: a task, everything on a CPU, or everything of a control group on a CPU.
struct EventScope {
  pid_t tid = -1;      // -1: everything
  int cgroup_fd = -1;  // a control group's folder; then `tid` is not used
  int cpu = -1;        // -1: wherever the task runs

  static EventScope task(pid_t tid, int cpu) { return {tid, -1, cpu}; }
  static EventScope everything(int cpu) { return {-1, -1, cpu}; }
  static EventScope cgroup(int fd, int cpu) { return {-1, fd, cpu}; }
};

// perf_event_open, close-on-exec. An invalid descriptor on failure; errno says why. `leader_fd`: the first event of the
// group that this one is counted together with.
base::FileDescriptor open_event(const perf_event_attr& attr, const EventScope& scope, int leader_fd = -1);

// The kernel's id of an open event, 0 on failure.
uint64_t event_id(int fd);

bool enable_event(int fd);
bool disable_event(int fd);
// Lets the event write into the ring of `ring_fd`, which must be of the same CPU and clock.
bool redirect_output(int fd, int ring_fd);
// Lets only those hits of a tracepoint through that the expression names. False: errno says why (EINVAL: malformed).
bool set_filter(int fd, const std::string& expression);
// Stops and resumes writing to the ring of `fd`; what comes meanwhile is not kept.
bool pause_output(int fd, bool pause);

// What an event counted, and how many of its records found no room in the ring (0 where the kernel cannot tell).
struct EventCount {
  uint64_t value = 0;
  uint64_t lost = 0;
  uint64_t enabled_ns = 0;  // 0 where the read format does not ask for it
  uint64_t running_ns = 0;  // less than enabled: the counter was shared with other events
  bool failed = false;      // it cannot be read, as a pinned event that found no counter
};
// With PERF_FORMAT_GROUP on a leader: its own value, and the losses of all members.
EventCount read_count(int fd, uint64_t read_format);

// Which attributes this kernel takes. Older kernels refuse an attribute they do not know, so each is tried once on a
// dummy event of our own.
struct AttrSupport {
  bool clockid = false;
  bool comm_exec = false;
  bool ksymbol = false;
  bool bpf_event = false;
  bool build_id = false;
  bool read_lost = false;
};
AttrSupport probe_attr_support();

// Whether the event advances on this machine: a virtual machine may accept `cycles` and never count one.
bool counts_here(uint32_t type, uint64_t config);

}  // namespace tephra::kernel
