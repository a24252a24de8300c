#include "collect/recorder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>

#include "base/clock.h"
#include "collect/control.h"
#include "collect/elf_build_id.h"
#include "collect/event_set.h"
#include "collect/features.h"
#include "collect/file_keeper.h"
#include "collect/followed_tasks.h"
#include "collect/jit_watch.h"
#include "collect/name_embedder.h"
#include "collect/ring_drain.h"
#include "collect/run_meter.h"
#include "collect/running_code.h"
#include "collect/stack_choice.h"
#include "collect/stack_engine.h"
#include "collect/synthesize.h"
#include "kernel/perf_event.h"
#include "kernel/privileges.h"
#include "kernel/procfs.h"
#include "kernel/workload.h"
#include "model/profile.h"
#include "stream/perf_file.h"
#include "stream/recorder_facts.h"
#include "stream/records.h"

namespace tephra::collect {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kTick{1000};
// Where new threads have to be looked for, what happens before we look is missed.
constexpr std::chrono::milliseconds kTickWhenScanning{100};
// The in-kernel unwinder relies on what it was told of mappings until then.
constexpr double kWaitWhenWalking = 0.1;
constexpr double kRestWhenWalking = 0.002;
// How long a recording of running processes, or of the machine, waits at most for tables before it begins.
constexpr std::chrono::milliseconds kPrepareTime{2000};
constexpr std::chrono::milliseconds kPrepareMachineTime{200};
constexpr double kWaitWhenKeeping = 0.1;

// Records that came meanwhile know better.
void add_files(const BuildIds& existing, BuildIds& files) { files.insert(existing.begin(), existing.end()); }

// Of a recording with a size limit, how much is left for names.
uint64_t room_for_names(uint64_t limit) { return std::min<uint64_t>(limit / 32, 1 << 20); }

// As readers name it, too.
std::string_view engine_name(CallGraph engine) {
  switch (engine) {
    case CallGraph::kBpf:
      return model::kEngineInKernel;
    case CallGraph::kFramePointers:
      return model::kEngineFramePointers;
    case CallGraph::kDwarf:
      return model::kEngineStackCopies;
    case CallGraph::kBranches:
      return model::kEngineBranches;
    default:
      return "none";
  }
}

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// A recording from its preparation to its end. Used once.
class Recorder {
 public:
  Recorder(const RecordOptions& options, const OnProgress& on_progress)
      : options_(options), on_progress_(on_progress), support_(kernel::probe_attr_support()) {}

  base::Result<RecordSummary> run();

 private:
  base::Status prepare();
  base::Status open_events();
  base::Status choose_engine(PlanSettings& settings);
  void prepare_walks();
  base::Status attach_cgroups();
  uint64_t usual_ring_bytes() const;
  base::Status open_output();
  base::Status describe_existing(Synthesizer& existing);
  base::Status synthesize();
  base::Status tell(base::Bytes records);
  bool start_program();

  base::Status loop();
  void wait_for_work();
  double seconds_to_wait() const;
  void hear_signals();
  bool told_to_hurry();
  base::Status hear_control();
  base::Status hear_flight();
  void enable_when_due();
  base::Status drain();
  base::Status follow_tasks();
  base::Status follow_generated_code();
  base::Status rotate();
  void reserve_tail();
  void tick();
  void check_end();

  base::Status conclude();
  base::Status conclude_flight();
  bool snapshots_done() const;
  base::Status tell_walk_losses();
  base::Status tell_last_losses();
  void tell_shared_counters() const;
  base::Status finish_file();
  void end_program();
  void keep_files();
  void begin_naming(const std::string& path);
  void hear_embedder(std::chrono::milliseconds wait);
  void finish_naming();
  base::Error salvage(base::Error error);
  RecordSummary summary() const;
  std::string sampled_names() const;

  std::vector<Feature> first_features() const;
  std::vector<Feature> last_features() const;
  stream::RecorderFacts facts() const;

  Synthesizer::Settings synthesis() const {
    return {events_->side_band_id(), needs_data_maps(sampling_), sampling_.build_ids};
  }
  // Listing thousands of processes takes longer than the rings hold.
  base::Status drain_meanwhile() { return flight_ ? flight_->drain() : drain_->take_all(); }
  bool starts_later() const { return options_.delay_s.has_value(); }
  std::vector<int> cpus() const { return {events_->rings().cpus().begin(), events_->rings().cpus().end()}; }
  RecordCounts& counts() { return flight_ ? flight_->counts() : drain_->counts(); }
  const RecordCounts& counts() const { return flight_ ? flight_->counts() : drain_->counts(); }
  void note(const std::string& text) const {
    if (options_.on_note) options_.on_note(text);
  }
  Note noter() const {
    return [this](const std::string& text) { note(text); };
  }
  std::chrono::milliseconds tick_length() const {
    const bool looks_often = tasks_ && tasks_->scans() && !options_.target.user;
    return looks_often ? kTickWhenScanning : kTick;
  }
  // The duration is that of the events being on.
  double end_after() const { return *options_.duration_s + std::max(0.0, options_.delay_s.value_or(0)); }
  double elapsed() const { return std::chrono::duration<double>(Clock::now() - started_).count(); }

  const RecordOptions& options_;
  const OnProgress& on_progress_;
  const kernel::AttrSupport support_;
  const RunMeter meter_;
  // What there was when the current file was begun.
  struct FileStart {
    RunMeter meter;
    uint64_t lost = 0;
    uint64_t late_writes = 0;
    uint64_t wakeups = 0;
    StackEngine::Totals stacks;
    bool first = true;
  };
  FileStart file_start_;
  std::vector<kernel::EventSpec> specs_;
  SampleSettings sampling_;  // with the engine that was chosen
  std::optional<kernel::SignalInbox> inbox_;
  std::optional<Control> control_;
  std::optional<kernel::Workload> program_;
  std::unique_ptr<StackEngine> stacks_;  // where stacks are walked in the kernel
  std::optional<EventSet> events_;
  std::optional<FollowedTasks> tasks_;
  std::optional<RecordingOutput> output_;  // without a flight recorder
  std::optional<SideBandKeeper> keeper_;   // with rotation: what the next file has to begin with
  std::optional<RingDrain> drain_;
  std::optional<Flight> flight_;
  std::optional<FileKeeper> mapped_files_;  // with names to be stored
  NameEmbedder embedder_;
  uint64_t named_addresses_ = 0;
  uint64_t names_bytes_ = 0;
  double names_cpu_seconds_ = 0;
  model::BuildId kernel_id_;
  std::vector<Feature> tracing_formats_;
  std::unique_ptr<JitWatch> jit_;  // how its section is made is no state of the recording

  Clock::time_point started_;
  Clock::time_point next_tick_;
  std::optional<Clock::time_point> enable_at_;
  double seconds_ = 0;
  uint64_t wakeups_ = 0;
  uint64_t walks_lost_ = 0;      // that were told
  std::vector<int> gone_rings_;  // descriptors that would wake us without end
  std::string choice_text_;      // why the engine is what it is
  bool samples_came_ = false;    // in the last round
  bool rotate_now_ = false;
  bool reader_gone_ = false;
  bool stop_ = false;
  bool interrupted_ = false;
  bool done_early_ = false;
  bool target_exited_ = false;
  int start_error_ = 0;
};

base::Result<RecordSummary> Recorder::run() {
  TEPHRA_CHECK_OK(prepare());
  TEPHRA_CHECK_OK(open_events());
  TEPHRA_CHECK_OK(open_output());
  if (options_.events.empty() && !specs_[0].hardware()) note("sampling cpu-clock: this machine counts no cycles");
  if (!choice_text_.empty()) note(choice_text_);
  started_ = Clock::now();
  if (!start_program()) return summary();
  if (output_) {
    if (auto status = output_->publish(); !status) return salvage(std::move(status).error());
  }
  next_tick_ = Clock::now() + tick_length();
  if (auto status = loop(); !status) return salvage(std::move(status).error());
  if (auto status = flight_ ? conclude_flight() : conclude(); !status) return salvage(std::move(status).error());
  end_program();
  finish_naming();
  return summary();
}

base::Status Recorder::prepare() {
  specs_ = options_.events;
  if (specs_.empty()) specs_.push_back(default_event());
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

base::Status Recorder::open_events() {
  const Target& target = options_.target;
  PlanSettings settings{options_.sampling, {}, target.inherit, starts_later(), options_.flight.has_value()};
  settings.sampling.default_frequency = std::min(settings.sampling.default_frequency, kernel::max_sample_rate());
  TEPHRA_CHECK_OK(choose_engine(settings));
  auto plan = plan_events(specs_, target, settings, support_, noter());
  const bool inherits = plan.back().attr.inherit;
  events_.emplace(std::move(plan), support_, noter());
  if (stacks_) events_->walk_stacks_with(&stacks_->program());
  const RingSet::Size size{options_.ring_bytes.value_or(usual_ring_bytes()), options_.ring_bytes.has_value()};
  TEPHRA_CHECK_OK(
      events_->open_rings(target.cpus.empty() ? kernel::online_cpus() : target.cpus, target.whole_cpus(), size));
  if (!target.cgroups.empty()) return attach_cgroups();
  if (target.all_cpus) return events_->attach_everything();
  if (target.records_program()) {
    TEPHRA_TRY(const bool alive, events_->attach_task(program_->pid()));
    if (!alive) return base::failed("cannot record", target.command[0], "it was killed before it started");
    if (inherits || !target.inherit) return {};
    tasks_.emplace(target, *events_, inherits, noter());
    tasks_->adopt(program_->pid());
    return {};
  }
  tasks_.emplace(target, *events_, inherits, noter());
  return tasks_->attach();
}

base::Status Recorder::choose_engine(PlanSettings& settings) {
  // What a flight recorder keeps is not what passes through.
  const auto ring_bytes = options_.flight ? std::nullopt : options_.ring_bytes;
  TEPHRA_TRY(StackChoice choice, choose_stacks(settings.sampling, specs_, options_.target, ring_bytes, noter()));
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
void Recorder::prepare_walks() {
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

// Where many threads write to a ring, exchanging it for a larger one takes too long: they begin with more.
uint64_t Recorder::usual_ring_bytes() const {
  if (options_.flight) return kDefaultFlightBytes;
  if (sampling_.call_graph == CallGraph::kDwarf) return 8 * kDefaultRingBytes;
  // The first samples are copies.
  if (stacks_) return 4 * kDefaultRingBytes;
  size_t threads = options_.target.threads.size();
  for (const pid_t pid : options_.target.processes) threads += kernel::thread_count(pid);
  return threads > 1 || options_.target.user ? 4 * kDefaultRingBytes : kDefaultRingBytes;
}

base::Status Recorder::attach_cgroups() {
  for (const Cgroup& cgroup : options_.target.cgroups) {
    const base::FileDescriptor folder(::open(cgroup.folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!folder) return base::system_error("cannot open the control group", cgroup.name, errno);
    TEPHRA_CHECK_OK(events_->attach_cgroup(folder.get()));
  }
  return {};
}

std::vector<Feature> Recorder::first_features() const {
  auto features = start_features(events_->file_events(), options_.command_line, support_.clockid);
  features.push_back(build_id_feature(kernel_id_, {}));
  features.insert(features.end(), tracing_formats_.begin(), tracing_formats_.end());
  features.push_back(recorder_facts_feature(facts()));
  return features;
}

base::Status Recorder::open_output() {
  kernel_id_ = kernel_build_id();
  if (std::any_of(specs_.begin(), specs_.end(), [](const auto& spec) { return spec.tracepoint(); })) {
    TEPHRA_TRY(Feature formats, tracing_data_feature(specs_));
    tracing_formats_.push_back(std::move(formats));
  }
  if (stacks_) stacks_->wait_prepared(options_.target.whole_cpus() ? kPrepareMachineTime : kPrepareTime);
  jit_ = std::make_unique<JitWatch>(options_.java_maps, noter());
  // What runs already is sampled from now on, and listed meanwhile.
  if (!options_.target.records_program() && !starts_later()) events_->enable();
  if (options_.flight) {
    // A program of ours may read the keys itself.
    const bool keys = !program_;
    TEPHRA_TRY(auto flight, Flight::open(*options_.flight, keys, options_.output, *events_));
    flight_.emplace(std::move(flight));
    if (stacks_) flight_->walk_stacks_with(stacks_.get());
    // Only while someone takes them: they would pile up over days.
    flight_->counts().want_tasks = tasks_ && tasks_->scans();
    keep_files();
    flight_->counts().want_jit_signs = true;
    Synthesizer existing(synthesis(), [this](base::Bytes bytes) { return tell(bytes); });
    TEPHRA_CHECK_OK(describe_existing(existing));
    add_files(existing.build_ids(), flight_->files());
    return {};
  }
  TEPHRA_TRY(auto output, RecordingOutput::create(options_.output, events_->file_events(), first_features()));
  output_.emplace(std::move(output));
  drain_.emplace(*events_, *output_, !options_.ring_bytes, noter());
  if (stacks_) drain_->walk_stacks_with(stacks_.get());
  drain_->counts().want_tasks = tasks_ && tasks_->scans();
  keep_files();
  drain_->counts().want_jit_signs = true;
  if (tasks_ && tasks_->scans() && output_->is_pipe()) {
    note("a stream cannot tell of events on threads that are found later: their samples have no event");
  }
  if (output_->rotates()) drain_->keep_side_band(&keeper_.emplace());
  return synthesize();
}

base::Status Recorder::describe_existing(Synthesizer& existing) {
  const Target& target = options_.target;
  existing.between_processes([this] { return drain_meanwhile(); });
  TEPHRA_CHECK_OK(existing.add_kernel());
  if (options_.sampling.cgroups) TEPHRA_CHECK_OK(existing.add_cgroups());
  if (target.whole_cpus() || target.user) TEPHRA_CHECK_OK(existing.add_all_processes());
  for (const pid_t pid : target.processes) TEPHRA_CHECK_OK(existing.add_process(pid));
  for (const pid_t tid : target.threads) TEPHRA_CHECK_OK(existing.add_thread(tid));
  if (target.records_program() && start_error_ == 0) {
    existing.add_program(program_->pid(), ::getpid(), base_name(target.command[0]));
  }
  return existing.flush();
}

base::Status Recorder::synthesize() {
  Synthesizer existing(synthesis(), [this](base::Bytes bytes) { return tell(bytes); });
  TEPHRA_CHECK_OK(describe_existing(existing));
  add_files(existing.build_ids(), drain_->files());
  reserve_tail();
  return output_->end_round();
}

// False: it could not be started.
bool Recorder::start_program() {
  if (options_.delay_s && *options_.delay_s >= 0) {
    enable_at_ =
        started_ + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(*options_.delay_s));
  }
  if (program_) start_error_ = program_->start();
  if (stacks_ && program_ && start_error_ == 0) stacks_->prepare(program_->pid());
  // The exec has enabled the program's own; what is attached to later begins at once from now on.
  if (options_.target.records_program() && tasks_ && !starts_later()) events_->enable();
  return start_error_ == 0;
}

base::Status Recorder::loop() {
  while (!stop_) {
    wait_for_work();
    hear_signals();
    enable_when_due();
    TEPHRA_CHECK_OK(hear_control());
    check_end();
    TEPHRA_CHECK_OK(drain());
    TEPHRA_CHECK_OK(follow_generated_code());
    if (flight_) TEPHRA_CHECK_OK(hear_flight());
    if (Clock::now() >= next_tick_) {
      tick();
      TEPHRA_CHECK_OK(tell_walk_losses());
      TEPHRA_CHECK_OK(follow_tasks());
    }
    if (!stop_) TEPHRA_CHECK_OK(rotate());
  }
  return {};
}

double Recorder::seconds_to_wait() const {
  Clock::time_point next = next_tick_;
  if (enable_at_) next = std::min(next, *enable_at_);
  next = std::min(next, jit_->next_look());
  if (flight_) next = std::min(next, flight_->next_look());
  if (output_ && output_->rotation_time()) next = std::min(next, *output_->rotation_time());
  double seconds = std::chrono::duration<double>(next - Clock::now()).count();
  if (stacks_ && samples_came_) seconds = std::min(seconds, kWaitWhenWalking);
  // What runs for a moment in a container of its own can be reached only so long.
  if (mapped_files_ && samples_came_) seconds = std::min(seconds, kWaitWhenKeeping);
  if (options_.duration_s) seconds = std::min(seconds, end_after() - elapsed());
  return std::clamp(seconds, 0.0, 60.0);
}

// Until a ring is a quarter full, someone wants something, or it is time for something.
void Recorder::wait_for_work() {
  std::vector<pollfd> waits;
  waits.push_back({inbox_->fd(), POLLIN, 0});
  const RingSet& rings = events_->rings();
  for (size_t place = 0; place < rings.cpus().size(); ++place) {
    if (std::find(gone_rings_.begin(), gone_rings_.end(), rings.fd(place)) == gone_rings_.end()) {
      waits.push_back({rings.fd(place), POLLIN, 0});
    }
  }
  const size_t rings_end = waits.size();
  if (tasks_) tasks_->add_waits(waits);
  if (control_ && control_->fd() >= 0) waits.push_back({control_->fd(), POLLIN, 0});
  if (flight_) flight_->add_waits(waits);
  const auto poll_for = [&waits](double seconds) {
    return ::poll(waits.data(), waits.size(), static_cast<int>(std::ceil(seconds * 1000)));
  };
  // Walked samples make their ring readable one by one: a short rest lets them gather.
  const bool others = stacks_ && poll_for(std::min(kRestWhenWalking, seconds_to_wait())) > 0;
  if (stacks_) waits.push_back({stacks_->fd(), POLLIN, 0});
  if (!others) poll_for(seconds_to_wait());
  ++wakeups_;
  // A ring whose CPU is gone would wake us without end; what is in it is still drained.
  for (size_t at = 1; at < rings_end; ++at) {
    if (waits[at].revents & (POLLHUP | POLLERR | POLLNVAL)) gone_rings_.push_back(waits[at].fd);
  }
}

void Recorder::hear_signals() {
  while (const int signal = inbox_->next()) {
    if (signal == SIGUSR2 && flight_)
      flight_->request("SIGUSR2");
    else if (signal == SIGUSR2)
      rotate_now_ = output_->rotates();
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
  if (tasks_ && tasks_->all_ended()) target_exited_ = stop_ = true;
  if (options_.duration_s && elapsed() >= end_after()) stop_ = done_early_ = true;
}

void Recorder::enable_when_due() {
  if (!enable_at_ || Clock::now() < *enable_at_) return;
  enable_at_.reset();
  events_->enable();
}

base::Status Recorder::hear_control() {
  if (!control_) return {};
  for (const ControlCommand& command : control_->commands()) {
    switch (command.kind) {
      case ControlCommand::Kind::kEnable:
      case ControlCommand::Kind::kDisable: {
        const bool on = command.kind == ControlCommand::Kind::kEnable;
        enable_at_.reset();
        if (!command.argument.empty()) {
          if (!events_->enable_only(command.argument, on)) note("no such event to control: " + command.argument);
        } else if (on) {
          events_->enable();
        } else {
          events_->pause();
        }
        break;
      }
      case ControlCommand::Kind::kEventList:
        for (const PlannedEvent& event : events_->plan()) note(event.spec.name);
        break;
      case ControlCommand::Kind::kSnapshot:
        if (flight_) {
          flight_->request("control command");
          TEPHRA_CHECK_OK(hear_flight());
        } else if (output_->rotates()) {
          rotate_now_ = true;
          TEPHRA_CHECK_OK(drain_->pass());
          TEPHRA_CHECK_OK(rotate());
        } else {
          note("nothing to take a snapshot of: that needs --overwrite or --switch-output");
        }
        break;
      case ControlCommand::Kind::kStop:
        stop_ = done_early_ = true;
        break;
      case ControlCommand::Kind::kPing:
        break;
    }
    control_->acknowledge();
  }
  if (const auto unknown = control_->unknown_command()) note("no such control command: " + *unknown);
  return {};
}

base::Status Recorder::drain() {
  if (flight_) return flight_->drain();
  const uint64_t before = counts().samples;
  TEPHRA_CHECK_OK(drain_->pass());
  samples_came_ = counts().samples != before;
  if (output_->full()) stop_ = done_early_ = true;
  return {};
}

base::Status Recorder::hear_flight() {
  const auto why = flight_->wanted();
  if (!why) return {};
  // A disk that is full for a moment must not end the watch.
  const auto path = flight_->write_snapshot(first_features(), last_features());
  if (!path) {
    note(path.error().message());
    return {};
  }
  note(fmt::format("snapshot of the last {:.1f} s: {} ({})", flight_->last_span(), *path, *why));
  begin_naming(*path);
  if (snapshots_done()) stop_ = done_early_ = true;
  return {};
}

bool Recorder::snapshots_done() const {
  const auto& most = options_.flight->max_snapshots;
  return most && flight_->snapshots().size() >= *most;
}

base::Status Recorder::follow_tasks() {
  if (!tasks_ || !tasks_->scans()) return {};
  RecordCounts& seen = counts();
  tasks_->heard(seen.born, seen.ended);
  seen.born.clear();
  seen.ended.clear();
  Synthesizer::Settings settings = synthesis();
  settings.time = base::monotonic_ns();
  TEPHRA_TRY(const auto fresh, tasks_->follow());
  if (fresh.empty()) return {};
  Synthesizer existing(settings, [this](base::Bytes bytes) { return tell(bytes); });
  for (const pid_t pid : fresh) TEPHRA_CHECK_OK(existing.add_process(pid));
  add_files(existing.build_ids(), flight_ ? flight_->files() : drain_->files());
  return existing.flush();
}

base::Status Recorder::follow_generated_code() {
  for (const JitSign& sign : std::exchange(counts().jit_signs, {})) jit_->hear(sign);
  return jit_->look(Clock::now());
}

// A record of our own making, for this file and those that follow.
base::Status Recorder::tell(base::Bytes records) {
  if (mapped_files_) mapped_files_->see_all(records);
  stream::RecordWalker walker(records);
  for (stream::Record record; walker.next(record);) {
    if (record.type != PERF_RECORD_MMAP2) continue;
    if (const auto sign = read_jit_sign(record.bytes)) jit_->hear(*sign);
  }
  if (flight_) return flight_->keep(records);
  if (keeper_) keeper_->take(records);
  return output_->append(records);
}

base::Status Recorder::rotate() {
  if (!output_ || !(rotate_now_ || output_->rotation_due(Clock::now()))) return {};
  rotate_now_ = false;
  TEPHRA_CHECK_OK(finish_file());
  note("switched to a new file; the last is " + output_->last_path());
  begin_naming(output_->last_path());
  // From here on what is told about the file is told about the new one.
  file_start_ = {RunMeter(), drain_->counts().lost, drain_->late_writes(), wakeups_, {}, false};
  if (stacks_) file_start_.stacks = stacks_->totals();
  const uint64_t last_time = std::exchange(drain_->counts().last_time, 0);
  drain_->counts().first_time = 0;
  TEPHRA_CHECK_OK(output_->begin_next(events_->file_events(), first_features()));
  // Samples that come now may be of processes that have ended since, so the file begins with all that was told.
  keeper_->forget_before(last_time);
  TEPHRA_CHECK_OK(keeper_->write_to([this](base::Bytes bytes) { return output_->append(bytes); }));
  reserve_tail();
  TEPHRA_CHECK_OK(output_->end_round());
  return output_->publish();
}

// The size limit must leave room for what is written last.
void Recorder::reserve_tail() {
  if (!options_.output.max_bytes) return;
  uint64_t tail = 0;
  for (const Feature& feature : last_features()) tail += feature.content.size() + 8;
  if (mapped_files_) tail += room_for_names(*options_.output.max_bytes);
  for (const FileEvent& event : events_->file_events()) tail += event.ids.size() * 8 + 2 * kernel::kAttrSize;
  output_->reserve_tail(tail);
}

void Recorder::tick() {
  next_tick_ = Clock::now() + tick_length();
  if (flight_) flight_->forget_old();
  if (stacks_) stacks_->tick();
  hear_embedder(std::chrono::milliseconds(0));
  if (output_ && output_->reader_gone()) stop_ = done_early_ = reader_gone_ = true;
  if (output_) reserve_tail();
  if (!on_progress_) return;
  Progress progress{elapsed(), counts().samples, counts().lost, output_ ? output_->bytes() : 0};
  progress.flight = flight_.has_value();
  progress.keys = flight_ && !program_;
  if (flight_) progress.snapshots = flight_->snapshots().size();
  on_progress_(progress);
}

stream::RecorderFacts Recorder::facts() const {
  stream::RecorderFacts facts;
  facts.recorder_pid = ::getpid();
  facts.recorder_cpu_seconds = file_start_.meter.own_cpu_seconds();
  facts.wakeups = wakeups_ - file_start_.wakeups;
  facts.steal_seconds = file_start_.meter.steal_seconds(cpus());
  facts.cpu_seconds_total = file_start_.meter.cpu_seconds(cpus());
  if (flight_ || !file_start_.first) facts.counters_run_on = 1;
  if (drain_) {
    facts.lost_ring_full = drain_->counts().lost - file_start_.lost;
    facts.late_writes = drain_->late_writes() - file_start_.late_writes;
  }
  facts.engine = engine_name(sampling_.call_graph);
  if (stacks_) {
    const StackEngine::Totals now = stacks_->totals();
    facts.stacks_walked = now.program.walked - file_start_.stacks.program.walked;
    facts.stacks_copied = now.program.left_to_perf - file_start_.stacks.program.left_to_perf;
    facts.stacks_lost = now.program.lost - file_start_.stacks.program.lost;
    facts.table_bytes = now.program.table_bytes;
    facts.tables_refused = now.processes.tables.refused;
  }
  return facts;
}

std::vector<Feature> Recorder::last_features() const {
  std::vector<Feature> features{recorder_facts_feature(facts()), jit_->feature()};
  if (options_.sampling.build_ids) {
    features.push_back(build_id_feature(kernel_id_, flight_ ? flight_->files() : drain_->files()));
  }
  // The place for names, which are looked up when the file is finished.
  if (mapped_files_) features.push_back({stream::kFeatureTephraNames, {}});
  if (flight_) return features;
  const RecordCounts& seen = counts();
  if (seen.samples > 0) features.push_back(sample_time_feature(seen.first_time, seen.last_time));
  return features;
}

base::Status Recorder::finish_file() {
  // Tasks that were attached meanwhile have events with ids of their own.
  if (tasks_ && tasks_->scans()) output_->replace_events(events_->file_events());
  return output_->finish(last_features());
}

// Samples that were walked, and for which the ring they go through had no room.
base::Status Recorder::tell_walk_losses() {
  const uint64_t lost = stacks_ ? stacks_->totals().program.lost : 0;
  if (lost <= walks_lost_) return {};
  const uint64_t fresh = lost - std::exchange(walks_lost_, lost);
  RecordCounts& seen = counts();
  seen.lost += fresh;
  if (!output_) return {};
  Synthesizer rest(synthesis(), [this](base::Bytes bytes) { return output_->append(bytes); });
  rest.add_lost(fresh, seen.last_time);
  return rest.flush();
}

// The kernel reports a loss with the next record that finds room. The last losses have no next record.
base::Status Recorder::tell_last_losses() {
  TEPHRA_CHECK_OK(tell_walk_losses());
  const uint64_t total = events_->lost() + walks_lost_;
  RecordCounts& seen = counts();
  if (total <= seen.lost) return output_->end_round();
  Synthesizer rest(synthesis(), [this](base::Bytes bytes) { return output_->append(bytes); });
  rest.add_lost(total - seen.lost, seen.last_time);
  TEPHRA_CHECK_OK(rest.flush());
  seen.lost = total;
  return output_->end_round();
}

void Recorder::tell_shared_counters() const {
  for (const auto& [name, share] : events_->shared_counters()) {
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
  events_->disable();
  seconds_ = elapsed();
  tell_shared_counters();
  TEPHRA_CHECK_OK(drain_->last_pass());
  if (stacks_) stacks_->finish();
  TEPHRA_CHECK_OK(tell_last_losses());
  TEPHRA_CHECK_OK(follow_generated_code());
  TEPHRA_CHECK_OK(jit_->last_look([this] { return told_to_hurry(); }));
  TEPHRA_CHECK_OK(finish_file());
  if (on_progress_) on_progress_({.finished = true});
  return {};
}

// The end is a snapshot of its own, so that what was running is never lost by stopping; not where all that were wanted
// have been written.
base::Status Recorder::conclude_flight() {
  events_->pause();
  seconds_ = elapsed();
  tell_shared_counters();
  TEPHRA_CHECK_OK(flight_->drain());
  if (stacks_) stacks_->finish();
  TEPHRA_CHECK_OK(tell_walk_losses());
  TEPHRA_CHECK_OK(follow_generated_code());
  TEPHRA_CHECK_OK(jit_->last_look([this] { return told_to_hurry(); }));
  if (on_progress_) on_progress_({.finished = true});
  if (snapshots_done()) return {};
  return flight_->write_last(first_features(), last_features());
}

// A program that outlives its recording is asked to end, and killed when we are asked a second time.
void Recorder::end_program() {
  if (!program_ || program_->poll()) return;
  program_->send(SIGTERM);
  program_->send(SIGCONT);  // a stopped program would never see it
  bool said = false;
  while (!program_->poll()) {
    pollfd wait{inbox_->fd(), POLLIN, 0};
    if (::poll(&wait, 1, 1000) == 0 && !std::exchange(said, true)) {
      note(fmt::format("waiting for {} to end, which was told to (SIGTERM); Ctrl-C kills it",
                       options_.target.command[0]));
    }
    while (const int signal = inbox_->next()) {
      if (signal != SIGCHLD) program_->send(SIGKILL);
    }
  }
}

// From here on files are opened as they are mapped, for their names.
void Recorder::keep_files() {
  if (!options_.embed_names || !options_.sampling.build_ids) return;
  if (output_ && output_->is_pipe()) return note("a stream holds no names: they are looked up when it is read");
  mapped_files_.emplace();
  counts().on_mapping = [this](base::Bytes record) { mapped_files_->see(record); };
}

// Looks up the names of a finished file, beside the recording if that goes on.
void Recorder::begin_naming(const std::string& path) {
  struct stat info {};
  if (!mapped_files_ || ::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return;
  EmbedSettings settings;
  if (options_.output.max_bytes) settings.most_bytes = room_for_names(*options_.output.max_bytes);
  if (auto status = embedder_.begin(path, mapped_files_->files(), settings); !status) note(status.error().message());
}

void Recorder::hear_embedder(std::chrono::milliseconds wait) {
  if (!embedder_.busy()) return;
  for (const NameEmbedder::Result& result : embedder_.results(wait)) {
    names_cpu_seconds_ += result.cpu_seconds;
    if (!result.done) {
      note(fmt::format("no names were stored in {}: {}", result.path, result.why_not));
      continue;
    }
    named_addresses_ += result.done->addresses - result.done->unknown;
    names_bytes_ += result.done->bytes;
    if (result.done->addresses > 0 && result.done->bytes == 0) {
      note(fmt::format("the size limit left no room for names in {}", result.path));
    } else if (result.done->inlines_cut) {
      note(fmt::format("some inlined functions and lines are not stored in {}: looking them up took too long",
                       result.path));
    }
  }
}

// At the end nothing is missed while we wait, and one who does not want to wait presses Ctrl-C.
void Recorder::finish_naming() {
  if (!mapped_files_ || start_error_ != 0) return;
  if (output_) begin_naming(output_->last_path());
  if (flight_ && !snapshots_done()) begin_naming(options_.output.path);
  if (const auto over = mapped_files_->totals().over_limit; over > 0) {
    note(fmt::format("{} more mapped files than could be held open: their names are looked up by path", over));
  }
  const auto begun = Clock::now();
  bool said = false;
  while (embedder_.busy()) {
    hear_embedder(std::chrono::milliseconds(100));
    if (embedder_.busy() && Clock::now() - begun > std::chrono::seconds(1) && !std::exchange(said, true)) {
      note("looking up the names of what was sampled, to store them; Ctrl-C leaves them out");
    }
    while (const int signal = inbox_->next()) {
      if (signal == SIGCHLD || !embedder_.busy()) continue;
      embedder_.stop();
      note("no names were stored");
    }
  }
}

// After a failed write: keeps what readers can use, and says what became of it.
base::Error Recorder::salvage(base::Error error) {
  events_->disable();
  if (on_progress_) on_progress_({.finished = true});
  const auto add = [&error](const std::string& text) { error.fix += (error.fix.empty() ? "" : " ") + text; };
  if (output_ && output_->salvage(last_features())) {
    add(fmt::format("The recording up to then is kept ({} bytes).", output_->totals().bytes_kept));
  } else if (output_) {
    add("Nothing was recorded.");
  }
  if (program_ && !program_->poll()) add("The program was ended.");
  end_program();
  return error;
}

std::string Recorder::sampled_names() const {
  std::string names;
  for (const PlannedEvent& event : events_->plan()) {
    if (!event.tracking) names += (names.empty() ? "" : " and ") + event.spec.name;
  }
  return names;
}

RecordSummary Recorder::summary() const {
  RecordSummary result;
  result.samples = counts().samples;
  result.lost = counts().lost;
  result.throttled = counts().throttled;
  if (drain_) {
    result.late_writes = drain_->late_writes();
    result.rings_grown = drain_->rings_grown();
    result.beyond_limit = drain_->beyond_limit();
    result.output = output_->totals();
    result.full = output_->full();
    result.path = output_->last_path();
  }
  if (flight_) {
    result.snapshots = flight_->snapshots();
    result.output = flight_->totals();
    result.path = snapshots_done() ? flight_->snapshots().back() : options_.output.path;
  }
  result.named_addresses = named_addresses_;
  result.names_bytes = names_bytes_;
  result.names_cpu_seconds = names_cpu_seconds_;
  result.output.bytes_kept += names_bytes_;
  result.wakeups = wakeups_;
  if (stacks_) result.stacks = stacks_->totals();
  result.ring_bytes = events_->rings().bytes();
  result.cpus = cpus().size();
  result.seconds = seconds_;
  result.own_cpu_seconds = meter_.own_cpu_seconds();
  result.steal_seconds = meter_.steal_seconds(cpus());
  result.event_name = sampled_names();
  result.interrupted = interrupted_;
  result.done_early = done_early_;
  result.reader_gone = reader_gone_;
  result.target_exited = target_exited_;
  result.start_error = start_error_;
  if (program_) result.program_pid = program_->pid();
  if (start_error_ != 0)
    result.program_status = start_error_ == ENOENT ? 127 : 126;
  else if (program_)
    result.program_status = kernel::exit_status_of(program_->result());
  return result;
}

}  // namespace

kernel::EventSpec default_event() {
  if (kernel::counts_here(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES)) {
    kernel::EventSpec cycles;
    cycles.name = "cycles:P";
    cycles.type = PERF_TYPE_HARDWARE;
    cycles.config = PERF_COUNT_HW_CPU_CYCLES;
    cycles.most_precise = true;
    return cycles;
  }
  return kernel::software_event("cpu-clock");
}

base::Result<RecordSummary> record(const RecordOptions& options, const OnProgress& on_progress) {
  return Recorder(options, on_progress).run();
}

}  // namespace tephra::collect
