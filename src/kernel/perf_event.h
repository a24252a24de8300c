#pragma once

#include <linux/perf_event.h>
#include <sys/types.h>

#include <cstdint>

#include "base/file.h"

namespace tephra::kernel {

// The attribute size towards the kernel and in files. Readers refuse files with a larger one than they know (perf 6.1
// refuses 136), and no field beyond this one is used.
inline constexpr uint32_t kAttrSize = PERF_ATTR_SIZE_VER5;

// perf_event_attr with the size set and everything else off.
perf_event_attr empty_attr();

// perf_event_open, close-on-exec. An invalid descriptor on failure; errno says why.
base::FileDescriptor open_event(const perf_event_attr& attr, pid_t pid, int cpu);

// The kernel's id of an open event, 0 on failure.
uint64_t event_id(int fd);

bool enable_event(int fd);
bool disable_event(int fd);
// Lets the event write into the ring of `ring_fd`, which must be of the same CPU and clock.
bool redirect_output(int fd, int ring_fd);

// What an event counted, and how many of its records found no room in the ring (0 where the kernel cannot tell).
struct EventCount {
  uint64_t value = 0;
  uint64_t lost = 0;
};
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
