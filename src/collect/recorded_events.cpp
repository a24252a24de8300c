#include "collect/recorded_events.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <utility>

#include "collect/attach_again.h"
#include "collect/ring_sizes.h"
#include "collect/running_code.h"
#include "kernel/privileges.h"
#include "kernel/procfs.h"

namespace tephra::collect {
namespace {

// How long a recording of running processes, or of the machine, waits at most for tables before it begins.
constexpr std::chrono::milliseconds kPrepareTime{2000};
constexpr std::chrono::milliseconds kPrepareMachineTime{200};

// Events may have to be opened a second time in another way, which has the same to say.
Note each_once(Note note) {
  return [note = std::move(note), told = std::make_shared<std::set<std::string>>()](const std::string& text) {
    if (told->insert(text).second) note(text);
  };
}

// Deeper than the kernel goes where an event's stacks are taken by frame pointers; nothing where no depth was asked
// for.
std::string cut_by_kernel(const StackChoice& choice, const SampleSettings& sampling) {
  const long limit = kernel::sysctl_number("kernel/perf_event_max_stack").value_or(0);
  const auto& ways = choice.of_events;
  const bool by_kernel = std::find(ways.begin(), ways.end(), CallGraph::kFramePointers) != ways.end();
  if (!by_kernel || limit <= 0 || !sampling.max_stack || *sampling.max_stack <= limit) return {};
  return fmt::format(
      "stacks by frame pointers are cut at {} frames, not at {}: that is the kernel's limit; to raise it, have root "
      "run "
      "'sysctl kernel.perf_event_max_stack={}'",
      limit, *sampling.max_stack, *sampling.max_stack);
}

}  // namespace

RecordedEvents::RecordedEvents(const RecordOptions& options, const kernel::AttrSupport& support, Note note)
    : options_(options), support_(support), note_(each_once(std::move(note))), specs_(options.events) {
  if (specs_.empty()) specs_.push_back(default_event());
}

base::Status RecordedEvents::open(pid_t program) {
  TEPHRA_TRY(StackChoice choice, choose_engine());
  auto status = open_with(std::move(choice), program);
  const bool refused = !status && events_ && events_->walk_refusal();
  if (!refused || options_.sampling.call_graph != CallGraph::kAuto) return status;
  const base::Error refusal = *events_->walk_refusal();
  // The events go before the program that some of them may have.
  tasks_.reset();
  events_.reset();
  stacks_.reset();
  return open_with(choose_unwalked(wanted_sampling(), specs_, options_.target, refusal), program);
}

SampleSettings RecordedEvents::wanted_sampling() const {
  SampleSettings sampling = options_.sampling;
  sampling.default_frequency = std::min(sampling.default_frequency, kernel::max_sample_rate());
  // A flight recorder's samples do not pass through us, a stream cannot tell of events that are opened later, and what
  // each thread counted is told when its events end.
  sampling.copies_may_grow = !options_.flight && !is_stream(options_.output.path) && !sampling.thread_counts;
  return sampling;
}

base::Result<StackChoice> RecordedEvents::choose_engine() const {
  // What a flight recorder keeps is not what passes through.
  const auto ring_bytes = options_.flight ? std::nullopt : options_.ring_bytes;
  return choose_stacks(wanted_sampling(), specs_, options_.target, ring_bytes, note_);
}

base::Status RecordedEvents::open_with(StackChoice choice, pid_t program) {
  sampling_ = wanted_sampling();
  sampling_.stack_bytes = choice.stack_bytes;
  sampling_.call_graph = choice.program ? CallGraph::kBpf : choice.of_events[0];
  choice_text_ = std::move(choice.why);
  copy_ring_bytes_ = choice.ring_bytes;
  if (const std::string cut = cut_by_kernel(choice, sampling_); !cut.empty()) note_(cut);
  if (choice.program) {
    stacks_ = std::make_unique<StackEngine>(std::move(choice.program), running_code());
    prepare_walks();
  }
  const Target& target = options_.target;
  const PlanSettings settings{sampling_,
                              std::move(choice.of_events),
                              target.inherit,
                              options_.delay_s.has_value(),
                              options_.flight.has_value(),
                              choice.adapts};
  auto plan = plan_events(specs_, target, settings, support_, note_);
  const bool inherits = plan.back().attr.inherit;
  events_.emplace(std::move(plan), support_, note_);
  if (stacks_) events_->walk_stacks_with(&stacks_->program());
  TEPHRA_CHECK_OK(open_rings());
  TEPHRA_CHECK_OK(attach_target(program, inherits));
  if (choice.adapts) begin_to_adapt(program, inherits);
  return {};
}

base::Status RecordedEvents::open_rings() {
  const Target& target = options_.target;
  // The program that walks stacks is to know soon of code that has taken the place of other code. Beside the copies at
  // the start, rings then hold records about processes alone.
  const bool prompt = stacks_ != nullptr && !options_.flight;
  const RingSet::Size size{options_.ring_bytes.value_or(usual_ring_bytes()), options_.ring_bytes.has_value(), prompt};
  return events_->open_rings(target.cpus.empty() ? kernel::online_cpus() : target.cpus, target.whole_cpus(), size);
}

base::Status RecordedEvents::attach_target(pid_t program, bool inherits) {
  const Target& target = options_.target;
  if (target.whole_cpus()) return attach_cpus();
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

base::Status RecordedEvents::attach_cpus() {
  return options_.target.cgroups.empty() ? events_->attach_everything() : attach_cgroups();
}

// Where tasks are looked for again and again, their events come up at any time: the size stays as it is.
void RecordedEvents::begin_to_adapt(pid_t program, bool inherits) {
  if (scans()) return;
  inherits_ = inherits;
  live_.emplace();
  if (options_.target.records_program()) live_->attached(program, program);
  if (!tasks_) return;
  for (const pid_t tid : tasks_->attached()) {
    const auto task = kernel::task_status(tid);
    live_->attached(tid, task ? task->tgid : tid);
  }
}

void RecordedEvents::take_births(RecordCounts& counts) {
  const auto born = std::exchange(counts.born, {});
  const auto ended = std::exchange(counts.ended, {});
  if (live_) live_->heard(inherits_ ? std::span(born) : std::span<const TaskIds>(), ended);
}

base::Status RecordedEvents::resize_copies(uint32_t bytes, const std::function<base::Status()>& hear) {
  events_->close_ended();
  events_->renew(bytes);
  auto status = options_.target.whole_cpus() ? attach_cpus() : attach_again(*events_, *live_, hear);
  if (!status) {
    events_->give_up();
    return status;
  }
  events_->exchange();
  sampling_.stack_bytes = bytes;
  copies_changed_ = true;
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
  if (stacks_) return copy_ring_bytes_;
  size_t threads = options_.target.threads.size();
  for (const pid_t pid : options_.target.processes) threads += kernel::thread_count(pid);
  const uint64_t usual = plain_ring_bytes(samples_a_second(specs_, sampling_));
  return threads > 1 || options_.target.user ? std::max(usual, 4 * kDefaultRingBytes) : usual;
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
