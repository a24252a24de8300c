#include "collect/recorded_events.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>

#include "collect/running_code.h"
#include "kernel/privileges.h"
#include "kernel/procfs.h"

namespace tephra::collect {
namespace {

// How long a recording of running processes, or of the machine, waits at most for tables before it begins.
constexpr std::chrono::milliseconds kPrepareTime{2000};
constexpr std::chrono::milliseconds kPrepareMachineTime{200};

}  // namespace

RecordedEvents::RecordedEvents(const RecordOptions& options, const kernel::AttrSupport& support, Note note)
    : options_(options), support_(support), note_(std::move(note)), specs_(options.events) {
  if (specs_.empty()) specs_.push_back(default_event());
}

base::Status RecordedEvents::open(pid_t program) {
  const Target& target = options_.target;
  PlanSettings settings{
      options_.sampling, {}, target.inherit, options_.delay_s.has_value(), options_.flight.has_value()};
  settings.sampling.default_frequency = std::min(settings.sampling.default_frequency, kernel::max_sample_rate());
  TEPHRA_CHECK_OK(choose_engine(settings));
  auto plan = plan_events(specs_, target, settings, support_, note_);
  const bool inherits = plan.back().attr.inherit;
  events_.emplace(std::move(plan), support_, note_);
  if (stacks_) events_->walk_stacks_with(&stacks_->program());
  const RingSet::Size size{options_.ring_bytes.value_or(usual_ring_bytes()), options_.ring_bytes.has_value()};
  TEPHRA_CHECK_OK(
      events_->open_rings(target.cpus.empty() ? kernel::online_cpus() : target.cpus, target.whole_cpus(), size));
  return attach_target(program, inherits);
}

base::Status RecordedEvents::attach_target(pid_t program, bool inherits) {
  const Target& target = options_.target;
  if (!target.cgroups.empty()) return attach_cgroups();
  if (target.all_cpus) return events_->attach_everything();
  if (target.records_program()) return attach_program(program, inherits);
  tasks_.emplace(target, *events_, inherits, note_);
  return tasks_->attach();
}

base::Status RecordedEvents::attach_program(pid_t program, bool inherits) {
  const Target& target = options_.target;
  TEPHRA_TRY(const bool alive, events_->attach_task(program));
  if (!alive) return base::failed("cannot record", target.command[0], "it was killed before it started");
  if (inherits || !target.inherit) return {};
  tasks_.emplace(target, *events_, inherits, note_);
  tasks_->adopt(program);
  return {};
}

base::Status RecordedEvents::attach_cgroups() {
  for (const Cgroup& cgroup : options_.target.cgroups) {
    const base::FileDescriptor folder(::open(cgroup.folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!folder) return base::system_error("cannot open the control group", cgroup.name, errno);
    TEPHRA_CHECK_OK(events_->attach_cgroup(folder.get()));
  }
  return {};
}

base::Status RecordedEvents::choose_engine(PlanSettings& settings) {
  // What a flight recorder keeps is not what passes through.
  const auto ring_bytes = options_.flight ? std::nullopt : options_.ring_bytes;
  TEPHRA_TRY(StackChoice choice, choose_stacks(settings.sampling, specs_, options_.target, ring_bytes, note_));
  settings.call_graphs = choice.of_events;
  settings.sampling.stack_bytes = choice.stack_bytes;
  settings.sampling.call_graph = choice.program ? CallGraph::kBpf : choice.of_events[0];
  sampling_ = settings.sampling;
  choice_text_ = std::move(choice.why);
  if (!choice.program) return {};
  stacks_ = std::make_unique<StackEngine>(std::move(choice.program), running_code());
  prepare_walks();
  return {};
}

// What already runs is learnt while the events are opened.
void RecordedEvents::prepare_walks() {
  for (const pid_t pid : options_.target.processes) stacks_->prepare(pid);
  for (const pid_t tid : options_.target.threads) {
    if (const auto task = kernel::task_status(tid)) stacks_->prepare(task->tgid);
  }
  if (!options_.target.whole_cpus()) return;
  // Of a whole machine only what runs right now: the rest may never be sampled.
  for (const pid_t pid : kernel::all_processes()) {
    if (kernel::task_state(pid) == kernel::TaskState::kRunning) stacks_->prepare(pid);
  }
}

void RecordedEvents::wait_for_tables() {
  if (stacks_) stacks_->wait_prepared(options_.target.whole_cpus() ? kPrepareMachineTime : kPrepareTime);
}

// Where many threads write to a ring, exchanging it for a larger one takes too long: they begin with more.
uint64_t RecordedEvents::usual_ring_bytes() const {
  if (options_.flight) return kDefaultFlightBytes;
  if (sampling_.call_graph == CallGraph::kDwarf) return 8 * kDefaultRingBytes;
  // The first samples are copies.
  if (stacks_) return 4 * kDefaultRingBytes;
  size_t threads = options_.target.threads.size();
  for (const pid_t pid : options_.target.processes) threads += kernel::thread_count(pid);
  return threads > 1 || options_.target.user ? 4 * kDefaultRingBytes : kDefaultRingBytes;
}

Synthesizer::Settings RecordedEvents::synthesis() const {
  return {events_->side_band_id(), needs_data_maps(sampling_), sampling_.build_ids};
}

std::string RecordedEvents::sampled_names() const {
  std::string names;
  for (const PlannedEvent& event : events_->plan()) {
    if (!event.tracking) names += (names.empty() ? "" : " and ") + event.spec.name;
  }
  return names;
}

}  // namespace tephra::collect
