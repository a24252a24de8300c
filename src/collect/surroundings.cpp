#include "collect/surroundings.h"

namespace tephra::collect {
namespace {

kernel::Whom whom_of(const Target& target) {
  kernel::Whom whom;
  whom.inherit = target.inherit;
  whom.everything = target.all_cpus && target.cgroups.empty();
  for (const Cgroup& cgroup : target.cgroups) whom.cgroup_folders.push_back(cgroup.folder);
  if (target.whole_cpus() || target.records_program()) return whom;
  whom.user = target.user;
  whom.processes = target.processes;
  whom.threads = target.threads;
  return whom;
}

}  // namespace

kernel::WatchSettings Surroundings::watching() const {
  kernel::WatchSettings settings;
  settings.whom = whom_of(target);
  if (sampling.call_graph == CallGraph::kNone) {
    settings.stacks = kernel::UserStacks::kNone;
  } else if (stacks != nullptr) {
    settings.stacks = kernel::UserStacks::kWalked;
  }
  if (stacks != nullptr) settings.walk_maps = stacks->program().maps();
  settings.kernel_stacks = sampling.kernel_stacks;
  if (sampling.max_stack) settings.max_frames = *sampling.max_stack;
  return settings;
}

std::optional<SampleWriter> Surroundings::writer_of(std::string_view name) const {
  for (const FileEvent& event : events) {
    if (event.name == name && !event.ids.empty()) return SampleWriter(event.attr, event.ids.front());
  }
  return {};
}

pid_t Surroundings::usual_pid() const {
  if (program > 0) return program;
  if (!target.processes.empty()) return target.processes.front();
  return target.threads.empty() ? 0 : target.threads.front();
}

}  // namespace tephra::collect
