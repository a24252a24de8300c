#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "kernel/trial.h"

namespace tephra::kernel {

// Which perf events this user gets, found by opening each and closing it again, never enabled.
struct EventTrials {
  Trial user;                        // the CPU clock of our own process, its own code only
  Trial kernel;                      // with the kernel's code
  Trial every_process;               // all processes on a CPU
  Trial cycles;                      // the hardware counter of cycles of our own process, its own code only
  bool cycles_count = false;         // ... and it advances
  std::vector<std::string> sources;  // the kernel's sources of events (PMUs), by name, sorted

  bool has_source(const std::string& name) const;
};
EventTrials try_events();

// Whether the user code of a process may be sampled.
Trial try_process_event(pid_t pid);

}  // namespace tephra::kernel
