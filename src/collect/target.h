#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace tephra::collect {

// What is recorded. Exactly one of the first four is set.
struct Target {
  std::vector<std::string> command;  // a program to start, with its arguments; its children are recorded too
  std::vector<pid_t> processes;      // running processes with all their threads, and those they start
  std::vector<pid_t> threads;        // single running threads, and those they start
  bool all_cpus = false;             // everything on the machine
  std::vector<int> cpus;             // only on these CPUs; empty: all that are online
  bool inherit = true;               // false: no children and no new threads

  bool empty() const { return command.empty() && processes.empty() && threads.empty() && !all_cpus; }
};

}  // namespace tephra::collect
