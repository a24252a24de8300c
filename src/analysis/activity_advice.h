#pragma once

#include <sys/types.h>

#include <string>

#include "kernel/process_activity.h"

namespace tephra::analysis {

// Which type of profile fits what a process is doing.
struct ActivityAdvice {
  std::string seen;     // "mostly waiting (3 % of a CPU)"
  std::string type;     // of profile: "cpu", "offcpu", …
  bool exists = false;  // in this version
  std::string command;  // that would take it
  std::string note;     // what else to know; empty: nothing

  // One sentence with all of it.
  std::string text() const;
};
ActivityAdvice advise(const kernel::ProcessActivity& activity, pid_t pid);

}  // namespace tephra::analysis
