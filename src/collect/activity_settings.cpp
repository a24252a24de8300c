#include "collect/activity_settings.h"

#include <algorithm>

#include "kernel/event_names.h"

namespace tephra::collect {

const char* event_of(kernel::Activity activity) {
  switch (activity) {
    case kernel::Activity::kIo:
      return "io";
    case kernel::Activity::kTcp:
      return "tcp";
    default:
      return "syscalls";
  }
}

base::Status activity_engine(kernel::Activity activity, const Target& target) {
  if (!target.cpus.empty()) {
    return base::usage_error("sums of what threads do cannot be limited to CPUs", "", "they are kept by thread",
                             "Leave out -C, or use -t cpu.");
  }
  kernel::ActivityProgram::Settings trial;
  trial.activity = activity;
  trial.stacks = kernel::UserStacks::kNone;
  auto program = kernel::ActivityProgram::load(trial);
  if (!program) return std::move(program).error();
  return {};
}

void add_activity(kernel::Activity activity, RecordOptions& options) {
  options.activities.push_back(activity);
  kernel::EventSpec event = kernel::software_event("bpf-output");
  event.name = event_of(activity);
  event.collected = true;
  options.events.push_back(event);
}

}  // namespace tephra::collect
