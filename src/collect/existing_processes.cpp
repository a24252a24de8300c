#include "collect/existing_processes.h"

#include <unistd.h>

#include <string>

namespace tephra::collect {

base::Status describe_existing(const Target& target, pid_t program, bool cgroups, Synthesizer& existing) {
  TEPHRA_CHECK_OK(existing.add_kernel());
  if (cgroups) TEPHRA_CHECK_OK(existing.add_cgroups());
  if (target.whole_cpus() || target.user) TEPHRA_CHECK_OK(existing.add_all_processes());
  for (const pid_t pid : target.processes) TEPHRA_CHECK_OK(existing.add_process(pid));
  for (const pid_t tid : target.threads) TEPHRA_CHECK_OK(existing.add_thread(tid));
  if (target.records_program()) {
    const std::string& path = target.command[0];
    existing.add_program(program, ::getpid(), path.substr(path.rfind('/') + 1));
  }
  return existing.flush();
}

}  // namespace tephra::collect
