#include "collect/off_cpu_engine.h"

#include <algorithm>
#include <string>

#include "kernel/event_names.h"
#include "kernel/off_cpu_program.h"

namespace tephra::collect {
namespace {

void add_event(const char* name, RecordOptions& options) {
  const auto same = [&](const kernel::EventSpec& event) { return event.name == name; };
  if (std::any_of(options.events.begin(), options.events.end(), same)) return;
  kernel::EventSpec event = kernel::software_event("bpf-output");
  event.name = name;
  event.collected = true;
  options.events.push_back(event);
}

}  // namespace

base::Status check_off_cpu_target(const Target& target) {
  if (target.cpus.empty()) return {};
  return base::usage_error("waits cannot be limited to CPUs", "", "a thread that waits is on none",
                           "Leave out -C, or use -t cpu.");
}

base::Status off_cpu_engine(const Target& target) {
  TEPHRA_CHECK_OK(check_off_cpu_target(target));
  kernel::OffCpuProgram::Settings trial;
  trial.stacks = kernel::UserStacks::kNone;
  auto program = kernel::OffCpuProgram::load(trial);
  if (!program) return std::move(program).error();
  return {};
}

void add_off_cpu(const OffCpuSettings& settings, RecordOptions& options) {
  const bool wall = settings.wall || (options.off_cpu && options.off_cpu->wall);
  options.off_cpu = settings;
  options.off_cpu->wall = wall;
  add_event(kOffCpuEvent, options);
  if (wall) add_event(kRunTimeEvent, options);
  if (settings.wakers) add_event(kWakersEvent, options);
}

}  // namespace tephra::collect
