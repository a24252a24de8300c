#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace tephra::collect {

struct Cgroup {
  std::string name;    // as the user wrote it
  std::string folder;  // absolute
};

// What is recorded: one kind of the first six. A command may stand beside another kind and tells then how long.
struct Target {
  std::vector<std::string> command;  // a program to start, with its arguments; its children are recorded too
  std::vector<pid_t> processes;      // running processes with all their threads, and those they start
  std::vector<pid_t> threads;        // single running threads, and those they start
  std::optional<uid_t> user;         // all processes of a user, also those that start later
  std::vector<Cgroup> cgroups;       // all that runs in these control groups
  bool all_cpus = false;             // everything on the machine
  std::vector<int> cpus;             // only on these CPUs; empty: all that are online
  bool inherit = true;               // false: no children and no new threads

  // The program is what is recorded; beside another target it only tells how long.
  bool records_program() const { return !command.empty() && !records_tasks() && !whole_cpus(); }
  bool records_tasks() const { return !processes.empty() || !threads.empty() || user.has_value(); }
  // Events are tied to CPUs, not to tasks.
  bool whole_cpus() const { return all_cpus || !cgroups.empty(); }
  bool empty() const { return command.empty() && !records_tasks() && !whole_cpus(); }
};

}  // namespace tephra::collect
