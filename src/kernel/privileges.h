#pragma once

#include <string>

namespace tephra::kernel {

// What this process may ask of the kernel, for choosing fallbacks and for error messages that say the fix.
struct Privileges {
  long paranoid = 2;     // /proc/sys/kernel/perf_event_paranoid
  bool perfmon = false;  // CAP_PERFMON or CAP_SYS_ADMIN
  bool ptrace = false;   // CAP_SYS_PTRACE or CAP_PERFMON: may observe other users' processes
  bool filtered = false;  // a seccomp filter watches our system calls

  bool may_profile_kernel() const { return perfmon || paranoid < 2; }
  bool may_profile_cpus() const { return perfmon || paranoid < 1; }
  bool may_read_raw_tracepoints() const { return perfmon || paranoid < 0; }
};
Privileges privileges();

// Raises the limit of open files as far as we may, the hard one up to the system's own; one event per thread and CPU
// adds up.
void raise_open_file_limit();
// The soft limit of open files.
unsigned long open_file_limit();

}  // namespace tephra::kernel
