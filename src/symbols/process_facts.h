#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "kernel/container_mark.h"
#include "kernel/trial.h"
#include "symbols/module_facts.h"
#include "symbols/package_owner.h"

namespace tephra::symbols {

// A language's machinery that was seen in a process.
struct Runtime {
  std::string name;     // "java", "node", "python", "dotnet", "ruby", "go"
  std::string version;  // as far as a file's name tells it: "3.11"; empty: unknown
};

// What decides how well a process can be profiled.
struct ProcessFacts {
  pid_t pid = 0;
  pid_t inner_pid = 0;  // its number in its own PID namespace
  std::string comm;     // bytes as the kernel holds them
  char state = '?';     // as /proc shows it: R running, S and D waiting, T stopped, t traced, Z zombie
  pid_t tracer = 0;     // who traces it; 0: nobody
  bool kernel_thread = false;
  size_t threads = 0;
  uint32_t uid = 0;
  kernel::ContainerMark container;
  bool other_pid_namespace = false;    // than ours
  bool other_mount_namespace = false;  // than ours
  kernel::Trial event;                 // whether its user code may be sampled
  bool maps_readable = false;
  bool ended = false;                // while it was looked at: what follows is incomplete
  std::vector<ModuleFacts> modules;  // mapped executable: the program, then those with most code
  uint64_t unnamed_code_bytes = 0;   // executable memory without a file, as JIT compilers make it
  std::string perf_map;              // where its map of such code is; empty: there is none
  std::string jitdump;               // the record of such code that it has mapped; empty: none
  std::vector<Runtime> runtimes;
  Distribution distribution = Distribution::kOther;
  bool debuginfod = false;  // this user has named a server of debug information
};

// Reads all of it. A process that does not exist, or a thread's number, is an error that says so; one that ends
// meanwhile gives what was read until then.
base::Result<ProcessFacts> process_facts(pid_t pid);

// What the names of a process's files tell about languages; `modules` as in ProcessFacts.
std::vector<Runtime> runtimes_of(const std::vector<ModuleFacts>& modules);

}  // namespace tephra::symbols
