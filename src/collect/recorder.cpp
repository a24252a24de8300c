#include "collect/recorder.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <memory>
#include <utility>

#include "base/clock.h"
#include "collect/activity_collector.h"
#include "collect/control.h"
#include "collect/copy_adapter.h"
#include "collect/existing_processes.h"
#include "collect/file_destination.h"
#include "collect/flight_destination.h"
#include "collect/jit_watch.h"
#include "collect/off_cpu_collector.h"
#include "collect/program_end.h"
#include "collect/recorded_events.h"
#include "collect/recording_sections.h"
#include "collect/run_meter.h"
#include "collect/stored_names.h"
#include "collect/synthesize.h"
#include "collect/work_waits.h"
#include "kernel/privileges.h"
#include "kernel/workload.h"
#include "stream/records.h"

namespace tephra::collect {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kTick{1000};
// Where new threads have to be looked for, what happens before we look is missed.
constexpr std::chrono::milliseconds kTickWhenScanning{100};
// The in-kernel unwinder relies on what it was told of mappings until then, and what runs for a moment in a container
// of its own can be reached only so long.
constexpr double kWaitWhenSampling = 0.1;

// A recording from its preparation to its end: connects its parts, and decides what is done when. Used once.
class Recorder {
 public:
  Recorder(const RecordOptions& options, const OnProgress& on_progress)
      : options_(options), on_progress_(on_progress), support_(kernel::probe_attr_support()) {}

  base::Result<RecordSummary> run();

 private:
  base::Status prepare();
  base::Status open_collectors();
  base::Status open_destination();
  base::Status enable();
  base::Status tell_existing();
  base::Status tell(base::Bytes records);
  void tell_choices() const;
  base::Result<bool> start_program();

  base::Status loop();
  void wait_for_work();
  double seconds_to_wait() const;
  void hear_signals();
  bool told_to_hurry();
  void check_end();
  base::Status enable_when_due();
  base::Status hear_control();
  base::Status obey(const ControlCommand& command);
  void switch_events(const std::string& name, bool on);
  base::Status take_snapshot();
  base::Status drain();
  base::Status serve();
  base::Status follow_tasks();
  base::Status follow_generated_code();
  base::Status tick();
  void show_progress() const;

  base::Status conclude();
  base::Status tell_walk_losses();
  void tell_shared_counters() const;
  void finish_program();
  void finish_names();
  base::Error salvage(base::Error error);
  RecordSummary summary();

  bool starts_later() const { return options_.delay_s.has_value(); }
  pid_t program_pid() const { return program_ ? program_->pid() : 0; }
  EventSet& events() { return recorded_.events(); }
  void note(const std::string& text) const {
    if (options_.on_note) options_.on_note(text);
  }
  Note noter() const {
    return [this](const std::string& text) { note(text); };
  }
  std::chrono::milliseconds tick_length() const {
    return recorded_.scans() && !options_.target.user ? kTickWhenScanning : kTick;
  }
  // The duration is that of the events being on.
  double end_after() const { return *options_.duration_s + std::max(0.0, options_.delay_s.value_or(0)); }
  double elapsed() const { return std::chrono::duration<double>(Clock::now() - started_).count(); }

  const RecordOptions& options_;
  const OnProgress& on_progress_;
  const kernel::AttrSupport support_;
  const RunMeter meter_;
  std::optional<kernel::SignalInbox> inbox_;
  std::optional<Control> control_;
  std::optional<kernel::Workload> program_;
  RecordedEvents recorded_{options_, support_, noter()};
  JitWatch jit_{options_.java_maps, noter()};
  StoredNames names_{options_.output.max_bytes, noter()};
  WorkWaits waits_;
  RecordingSections sections_{options_, recorded_, jit_, names_, waits_};
  std::unique_ptr<Destination> destination_;
  std::vector<std::unique_ptr<Collector>> collectors_;
  std::optional<CopyAdapter> copies_;  // where their size is ours to choose

  Clock::time_point started_;
  Clock::time_point next_tick_;
  std::optional<Clock::time_point> enable_at_;
  double seconds_ = 0;
  uint64_t walks_lost_ = 0;    // that were told
  bool samples_came_ = false;  // in the last round
  bool stop_ = false;
  bool reader_gone_ = false;
  bool interrupted_ = false;
  bool done_early_ = false;
  bool target_exited_ = false;
  int start_error_ = 0;
};

base::Result<RecordSummary> Recorder::run() {
  TEPHRA_CHECK_OK(prepare());
  TEPHRA_CHECK_OK(recorded_.open(program_pid()));
  TEPHRA_CHECK_OK(open_collectors());
  TEPHRA_CHECK_OK(open_destination());
  TEPHRA_CHECK_OK(tell_existing());
  tell_choices();
  started_ = Clock::now();
  TEPHRA_TRY(const bool program_runs, start_program());
  if (!program_runs) return summary();
  if (auto status = destination_->publish(); !status) return salvage(std::move(status).error());
  next_tick_ = Clock::now() + tick_length();
  if (auto status = loop(); !status) return salvage(std::move(status).error());
  if (auto status = conclude(); !status) return salvage(std::move(status).error());
  finish_program();
  finish_names();
  return summary();
}

base::Status Recorder::prepare() {
  TEPHRA_TRY(auto inbox, kernel::SignalInbox::open());
  inbox_.emplace(std::move(inbox));
  if (!options_.control.empty()) {
    TEPHRA_TRY(const ControlSpec spec, parse_control(options_.control));
    TEPHRA_TRY(auto control, Control::open(spec));
    control_.emplace(std::move(control));
  }
  if (!options_.target.command.empty()) {
    const kernel::Workload::Settings settings{inbox_->mask_before(), options_.output.path == "-"};
    TEPHRA_TRY(auto program, kernel::Workload::fork(options_.target.command, settings));
    program_.emplace(std::move(program));
  }
  // After the fork: the program keeps the limit it would have had.
  kernel::raise_open_file_limit();
  return {};
}

base::Status Recorder::open_collectors() {
  if (!options_.off_cpu && options_.activities.empty()) return {};
  const Surroundings surroundings{options_.target, program_pid(), recorded_.stacks(), recorded_.sampling(),
                                  events().file_events()};
  if (options_.off_cpu) {
    TEPHRA_TRY(auto waits, OffCpuCollector::open(*options_.off_cpu, surroundings));
    collectors_.push_back(std::move(waits));
  }
  for (const kernel::Activity activity : options_.activities) {
    TEPHRA_TRY(auto sums, ActivityCollector::open(activity, surroundings));
    collectors_.push_back(std::move(sums));
  }
  return {};
}

// Of what is not enabled by the exec of a program.
base::Status Recorder::enable() {
  events().enable();
  for (const auto& collector : collectors_) TEPHRA_CHECK_OK(collector->begin());
  return {};
}

base::Status Recorder::open_destination() {
  TEPHRA_CHECK_OK(sections_.prepare(support_.clockid));
  recorded_.wait_for_tables();
  // What runs already is sampled from now on, and listed meanwhile.
  if (!options_.target.records_program() && !starts_later()) TEPHRA_CHECK_OK(enable());
  if (options_.flight) {
    // A program of ours may read the keys itself.
    TEPHRA_TRY(destination_, FlightDestination::open(options_, !program_, recorded_, noter()));
  } else {
    TEPHRA_TRY(destination_, FileDestination::open(options_, recorded_, sections_, noter()));
  }
  sections_.set_destination(destination_.get());
  if (recorded_.copies_adapt()) {
    copies_.emplace(recorded_, noter());
    sections_.set_copies(&copies_->sizes());
    destination_->watch_copies_with(&copies_->watch());
  }
  if (recorded_.stacks() != nullptr) destination_->walk_stacks_with(recorded_.stacks());
  std::vector<Collector*> collectors;
  for (const auto& collector : collectors_) collectors.push_back(collector.get());
  destination_->collect_from(std::move(collectors));
  RecordCounts& seen = destination_->counts();
  // Only while someone takes them: they would pile up over days.
  seen.want_tasks = recorded_.scans() || recorded_.copies_adapt();
  seen.want_jit_signs = true;
  if (!options_.embed_names || !options_.sampling.build_ids) return {};
  if (destination_->is_pipe()) {
    note("a stream holds no names: they are looked up when it is read");
    return {};
  }
  names_.keep_files();
  seen.on_mapping = [this](base::Bytes record) { names_.see(record); };
  return {};
}

base::Status Recorder::tell_existing() {
  if (recorded_.scans() && destination_->is_pipe()) {
    note("a stream cannot tell of events on threads that are found later: their samples have no event");
  }
  Synthesizer existing(recorded_.synthesis(), [this](base::Bytes bytes) { return tell(bytes); });
  // Listing thousands of processes takes longer than the rings hold.
  existing.between_processes([this] { return destination_->take_rings(); });
  TEPHRA_CHECK_OK(describe_existing(options_.target, program_pid(), options_.sampling.cgroups, existing));
  // Records that came meanwhile know better.
  destination_->files().insert(existing.build_ids().begin(), existing.build_ids().end());
  return destination_->begin(sections_);
}

// Records of our own making, for all files.
base::Status Recorder::tell(base::Bytes records) {
  names_.see_all(records);
  stream::RecordWalker walker(records);
  for (stream::Record record; walker.next(record);) {
    if (record.type != PERF_RECORD_MMAP2) continue;
    if (const auto sign = read_jit_sign(record.bytes)) jit_.hear(*sign);
  }
  return destination_->keep(records);
}

void Recorder::tell_choices() const {
  const bool ours = options_.events.empty() || options_.default_event_added;
  const auto is_cycles = [](const kernel::EventSpec& spec) { return spec.hardware(); };
  if (ours && std::ranges::none_of(recorded_.specs(), is_cycles)) {
    note("sampling cpu-clock: this machine counts no cycles");
  }
  if (!recorded_.choice_text().empty()) note(recorded_.choice_text());
  for (const std::string& choice : options_.choices) note(choice);
}

// False: it could not be started.
base::Result<bool> Recorder::start_program() {
  if (options_.delay_s && *options_.delay_s >= 0) {
    enable_at_ =
        started_ + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(*options_.delay_s));
  }
  if (options_.target.records_program() && !starts_later()) {
    for (const auto& collector : collectors_) TEPHRA_CHECK_OK(collector->begin());
  }
  if (program_) start_error_ = program_->start();
  if (recorded_.stacks() != nullptr && program_ && start_error_ == 0) recorded_.stacks()->prepare(program_->pid());
  // The exec has enabled the program's own; what is attached to later begins at once from now on.
  const bool more_come = recorded_.tasks() != nullptr || recorded_.copies_adapt();
  if (options_.target.records_program() && more_come && !starts_later()) events().enable();
  return start_error_ == 0;
}

base::Status Recorder::loop() {
  while (!stop_) {
    wait_for_work();
    hear_signals();
    TEPHRA_CHECK_OK(enable_when_due());
    TEPHRA_CHECK_OK(hear_control());
    check_end();
    TEPHRA_CHECK_OK(destination_->make_room(sections_, stop_));
    TEPHRA_CHECK_OK(drain());
    TEPHRA_CHECK_OK(follow_generated_code());
    if (copies_ && !stop_) TEPHRA_CHECK_OK(copies_->look(*destination_));
    TEPHRA_CHECK_OK(serve());
    if (Clock::now() >= next_tick_) TEPHRA_CHECK_OK(tick());
  }
  return {};
}

void Recorder::wait_for_work() {
  std::vector<pollfd> others{{inbox_->fd(), POLLIN, 0}};
  if (recorded_.tasks() != nullptr) recorded_.tasks()->add_waits(others);
  if (control_ && control_->fd() >= 0) others.push_back({control_->fd(), POLLIN, 0});
  destination_->add_waits(others);
  for (const auto& collector : collectors_) {
    if (collector->fd() >= 0) others.push_back({collector->fd(), POLLIN, 0});
  }
  const auto walked = recorded_.stacks() == nullptr ? std::nullopt : std::optional(recorded_.stacks()->fd());
  waits_.wait(events().rings(), std::move(others), walked, seconds_to_wait());
}

double Recorder::seconds_to_wait() const {
  Clock::time_point next = std::min({next_tick_, jit_.next_look(), destination_->next_time()});
  if (enable_at_) next = std::min(next, *enable_at_);
  double seconds = std::chrono::duration<double>(next - Clock::now()).count();
  const bool soon = recorded_.stacks() != nullptr || names_.keeps();
  if (soon && samples_came_) seconds = std::min(seconds, kWaitWhenSampling);
  if (options_.duration_s) seconds = std::min(seconds, end_after() - elapsed());
  return std::clamp(seconds, 0.0, 60.0);
}

void Recorder::hear_signals() {
  while (const int signal = inbox_->next()) {
    if (signal == SIGUSR2)
      destination_->request("SIGUSR2");
    else if (signal != SIGCHLD)
      interrupted_ = stop_ = true;
  }
}

// While the recording is being ended: a signal wants that to be now.
bool Recorder::told_to_hurry() {
  bool told = false;
  while (const int signal = inbox_->next()) told = told || (signal != SIGCHLD && signal != SIGUSR2);
  return told;
}

void Recorder::check_end() {
  if (program_ && program_->poll()) {
    stop_ = true;
    if (options_.target.records_program()) target_exited_ = true;
  }
  if (recorded_.tasks() != nullptr && recorded_.tasks()->all_ended()) target_exited_ = stop_ = true;
  if (options_.duration_s && elapsed() >= end_after()) stop_ = done_early_ = true;
}

base::Status Recorder::enable_when_due() {
  if (!enable_at_ || Clock::now() < *enable_at_) return {};
  enable_at_.reset();
  return enable();
}

base::Status Recorder::hear_control() {
  if (!control_) return {};
  for (const ControlCommand& command : control_->commands()) {
    TEPHRA_CHECK_OK(obey(command));
    control_->acknowledge();
  }
  if (const auto unknown = control_->unknown_command()) note("no such control command: " + *unknown);
  return {};
}

base::Status Recorder::obey(const ControlCommand& command) {
  switch (command.kind) {
    case ControlCommand::Kind::kEnable:
    case ControlCommand::Kind::kDisable:
      switch_events(command.argument, command.kind == ControlCommand::Kind::kEnable);
      return {};
    case ControlCommand::Kind::kEventList:
      for (const PlannedEvent& event : events().plan()) note(event.spec.name);
      return {};
    case ControlCommand::Kind::kSnapshot:
      return take_snapshot();
    case ControlCommand::Kind::kStop:
      stop_ = done_early_ = true;
      return {};
    case ControlCommand::Kind::kPing:
      return {};
  }
  return {};
}

void Recorder::switch_events(const std::string& name, bool on) {
  enable_at_.reset();
  if (!name.empty()) {
    if (!events().enable_only(name, on)) note("no such event to control: " + name);
  } else if (on) {
    events().enable();
  } else {
    events().pause();
  }
}

// Done when it is acknowledged.
base::Status Recorder::take_snapshot() {
  if (!destination_->request("control command")) {
    note("nothing to take a snapshot of: that needs --overwrite or --switch-output");
    return {};
  }
  TEPHRA_CHECK_OK(drain());
  return serve();
}

base::Status Recorder::drain() {
  const uint64_t before = destination_->counts().samples;
  TEPHRA_CHECK_OK(destination_->pass());
  samples_came_ = destination_->counts().samples != before;
  if (destination_->done()) stop_ = done_early_ = true;
  // Now, because the file may be ended next: what was lost belongs to it.
  return tell_walk_losses();
}

base::Status Recorder::serve() {
  TEPHRA_CHECK_OK(destination_->serve(sections_, stop_));
  if (destination_->done()) stop_ = done_early_ = true;
  return {};
}

base::Status Recorder::follow_tasks() {
  if (recorded_.copies_adapt()) {
    recorded_.take_births(destination_->counts());
    if (recorded_.copies_changed()) events().close_ended();
  }
  if (!recorded_.scans()) return {};
  RecordCounts& seen = destination_->counts();
  recorded_.tasks()->heard(seen.born, seen.ended);
  seen.born.clear();
  seen.ended.clear();
  Synthesizer::Settings settings = recorded_.synthesis();
  settings.time = base::monotonic_ns();
  TEPHRA_TRY(const auto fresh, recorded_.tasks()->follow());
  if (fresh.empty()) return {};
  Synthesizer existing(settings, [this](base::Bytes bytes) { return tell(bytes); });
  for (const pid_t pid : fresh) TEPHRA_CHECK_OK(existing.add_process(pid));
  destination_->files().insert(existing.build_ids().begin(), existing.build_ids().end());
  return existing.flush();
}

base::Status Recorder::follow_generated_code() {
  for (const JitSign& sign : std::exchange(destination_->counts().jit_signs, {})) jit_.hear(sign);
  return jit_.look(Clock::now());
}

base::Status Recorder::tick() {
  next_tick_ = Clock::now() + tick_length();
  destination_->tick(sections_);
  for (const auto& collector : collectors_) TEPHRA_CHECK_OK(collector->tick());
  if (recorded_.stacks() != nullptr) recorded_.stacks()->tick();
  names_.hear();
  if (destination_->reader_gone()) stop_ = done_early_ = reader_gone_ = true;
  show_progress();
  return follow_tasks();
}

void Recorder::show_progress() const {
  if (!on_progress_) return;
  Progress progress{elapsed(), destination_->counts().samples, destination_->counts().lost};
  destination_->report(progress);
  on_progress_(progress);
}

base::Status Recorder::tell_walk_losses() {
  const uint64_t lost = recorded_.walks_lost();
  if (lost <= walks_lost_) return {};
  return destination_->tell_lost(lost - std::exchange(walks_lost_, lost));
}

void Recorder::tell_shared_counters() const {
  for (const auto& [name, share] : recorded_.events().shared_counters()) {
    if (share == 0) {
      note(
          fmt::format("{} was never on a counter: other events, or the NMI watchdog ('sysctl kernel.nmi_watchdog=0'), "
                      "hold those it needs",
                      name));
    } else {
      note(fmt::format("{} was on a counter {:.0f} % of the time: there are more events than counters", name,
                       100 * share));
    }
  }
}

base::Status Recorder::conclude() {
  destination_->stop_sampling();
  for (const auto& collector : collectors_) TEPHRA_CHECK_OK(collector->stop());
  seconds_ = elapsed();
  tell_shared_counters();
  TEPHRA_CHECK_OK(destination_->take_last());
  for (const auto& collector : collectors_) {
    for (const std::string& line : collector->notes()) note(line);
  }
  if (recorded_.stacks() != nullptr) recorded_.stacks()->finish();
  TEPHRA_CHECK_OK(tell_walk_losses());
  TEPHRA_CHECK_OK(follow_generated_code());
  TEPHRA_CHECK_OK(jit_.last_look([this] { return told_to_hurry(); }));
  TEPHRA_CHECK_OK(destination_->conclude(sections_));
  if (on_progress_) on_progress_({.finished = true});
  return {};
}

void Recorder::finish_program() {
  if (program_) end_program(*program_, options_.target.command[0], *inbox_, noter());
}

void Recorder::finish_names() {
  if (const auto path = destination_->last_file()) names_.begin(*path);
  names_.finish(*inbox_);
}

// After a failed write: keeps what readers can use, and says what became of it.
base::Error Recorder::salvage(base::Error error) {
  events().disable();
  if (on_progress_) on_progress_({.finished = true});
  const auto add = [&error](const std::string& text) {
    if (!text.empty()) error.fix += (error.fix.empty() ? "" : " ") + text;
  };
  add(destination_->salvage(sections_));
  if (program_ && !program_->poll()) add("The program was ended.");
  finish_program();
  return error;
}

RecordSummary Recorder::summary() {
  RecordSummary result;
  result.samples = destination_->counts().samples;
  result.lost = destination_->counts().lost;
  result.throttled = destination_->counts().throttled;
  destination_->report(result);
  result.named_addresses = names_.totals().addresses;
  result.names_bytes = names_.totals().bytes;
  result.names_cpu_seconds = names_.totals().cpu_seconds;
  result.output.bytes_kept += names_.totals().bytes;
  result.wakeups = waits_.wakeups();
  if (copies_) result.copy_sizes = copies_->sizes().used();
  if (recorded_.stacks() != nullptr) result.stacks = recorded_.stacks()->totals();
  result.ring_bytes = events().rings().bytes();
  result.cpus = recorded_.cpus().size();
  result.seconds = seconds_;
  result.own_cpu_seconds = meter_.own_cpu_seconds();
  result.steal_seconds = meter_.steal_seconds(recorded_.cpus());
  result.event_name = recorded_.sampled_names();
  result.interrupted = interrupted_;
  result.done_early = done_early_;
  result.reader_gone = reader_gone_;
  result.target_exited = target_exited_;
  result.start_error = start_error_;
  result.program_pid = program_pid();
  if (start_error_ != 0)
    result.program_status = start_error_ == ENOENT ? 127 : 126;
  else if (program_)
    result.program_status = kernel::exit_status_of(program_->result());
  return result;
}

}  // namespace

base::Result<RecordSummary> record(const RecordOptions& options, const OnProgress& on_progress) {
  return Recorder(options, on_progress).run();
}

}  // namespace tephra::collect
