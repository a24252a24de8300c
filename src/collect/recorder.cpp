#include "collect/recorder.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>

#include "collect/elf_build_id.h"
#include "collect/event_set.h"
#include "collect/features.h"
#include "collect/perf_data_writer.h"
#include "collect/ring_scan.h"
#include "collect/synthesize.h"
#include "kernel/perf_event.h"
#include "kernel/privileges.h"
#include "kernel/procfs.h"
#include "kernel/workload.h"

namespace tephra::collect {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kTick{1000};
// Rings are written together in one call until this much is waiting; then the kernel gets its space back.
constexpr size_t kBatchBytes = 1 << 20;

double own_cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// A recording from its preparation to its end. Used once.
class Recorder {
 public:
  Recorder(const RecordOptions& options, const OnProgress& on_progress)
      : options_(options), on_progress_(on_progress), support_(kernel::probe_attr_support()) {}

  base::Result<RecordSummary> run();

 private:
  // The program is what is recorded, not just what tells how long.
  bool records_program() const {
    const Target& target = options_.target;
    return !target.all_cpus && target.processes.empty() && target.threads.empty();
  }
  bool whole_cpus() const { return options_.target.all_cpus; }
  bool copies_stacks() const { return options_.sampling.call_graph == CallGraph::kDwarf; }

  std::vector<PlannedEvent> plan() const;
  base::Status open_events();
  base::Status attach_processes();
  base::Status attach_threads();
  base::Status open_file();
  base::Status synthesize(uint64_t identifier);
  bool start_program();

  base::Status loop();
  base::Status drain();
  base::Status flush_batch();
  void wait_for_work();
  void hear_signals();
  void check_targets();
  void tell_progress(bool finished);

  base::Status conclude();
  void end_program();
  base::Error salvage(base::Error error);
  RecordSummary summary() const;
  void note(const std::string& text) const {
    if (options_.on_note) options_.on_note(text);
  }
  double elapsed() const { return std::chrono::duration<double>(Clock::now() - started_).count(); }

  const RecordOptions& options_;
  const OnProgress& on_progress_;
  const kernel::AttrSupport support_;
  const double cpu_before_ = own_cpu_seconds();
  std::vector<kernel::EventSpec> specs_;
  std::optional<kernel::SignalInbox> inbox_;
  std::optional<kernel::Workload> program_;
  std::optional<EventSet> events_;
  std::optional<PerfDataWriter> writer_;
  RecordCounts counts_;
  BuildIds files_;
  model::BuildId kernel_id_;

  struct Watched {
    base::FileDescriptor pidfd;  // of a process
    int thread_fd = -1;          // of a thread: an event's, which hangs up
    pid_t pid = 0;
  };
  std::vector<Watched> watched_;

  std::vector<int> ring_fds_;  // those to wait for

  // One pass over the rings: what is to be written, and what may be released after.
  std::vector<iovec> batch_;
  std::vector<std::pair<size_t, uint64_t>> batch_rings_;
  size_t batch_bytes_ = 0;

  Clock::time_point started_;
  Clock::time_point next_tick_;
  double seconds_ = 0;
  bool stop_ = false;
  bool interrupted_ = false;
  bool target_exited_ = false;
  int start_error_ = 0;
};

base::Result<RecordSummary> Recorder::run() {
  specs_ = options_.events;
  if (specs_.empty()) {
    specs_.push_back(default_event());
  }
  TEPHRA_TRY(auto inbox, kernel::SignalInbox::open());
  inbox_.emplace(std::move(inbox));
  if (!options_.target.command.empty()) {
    TEPHRA_TRY(auto program, kernel::Workload::fork(options_.target.command));
    program_.emplace(std::move(program));
  }
  // After the fork: the program keeps the limit it would have had.
  kernel::raise_open_file_limit();
  TEPHRA_CHECK_OK(open_events());
  TEPHRA_CHECK_OK(open_file());
  if (options_.events.empty() && !specs_[0].hardware()) note("sampling cpu-clock: this machine counts no cycles");
  started_ = Clock::now();
  if (!start_program()) return summary();
  if (auto status = writer_->publish(); !status) return salvage(std::move(status).error());
  next_tick_ = Clock::now() + kTick;
  if (auto status = loop(); !status) return salvage(std::move(status).error());
  if (auto status = conclude(); !status) return salvage(std::move(status).error());
  end_program();
  return summary();
}

// With a program of our own its first event tells about processes from the exec on. Otherwise a dummy event does, which
// is on before the existing processes are listed, so that none is missed in between.
std::vector<PlannedEvent> Recorder::plan() const {
  std::vector<PlannedEvent> planned;
  const bool inherit = options_.target.inherit && !whole_cpus();
  if (!records_program()) {
    PlannedEvent tracking{kernel::software_event("dummy"), dummy_attr(inherit, support_)};
    tracking.spec.name = "dummy:u";
    tracking.attr.disabled = 0;
    planned.push_back(std::move(tracking));
  }
  SampleSettings settings = options_.sampling;
  settings.inherit = inherit;
  settings.default_frequency = std::min(settings.default_frequency, kernel::max_sample_rate());
  for (const kernel::EventSpec& spec : specs_) {
    planned.push_back({spec, sampling_attr(spec, settings, support_)});
    planned.back().attr.enable_on_exec = records_program();
  }
  add_side_band(planned[0].attr, copies_stacks(), support_);
  return planned;
}

base::Status Recorder::open_events() {
  auto cpus = options_.target.cpus.empty() ? kernel::online_cpus() : options_.target.cpus;
  events_.emplace(plan(), std::move(cpus), support_, [this](const std::string& text) { note(text); });
  const uint64_t ring_bytes = options_.ring_bytes.value_or(kDefaultRingBytes);
  TEPHRA_CHECK_OK(events_->open_rings(whole_cpus(), ring_bytes, options_.ring_bytes.has_value()));
  ring_fds_.assign(events_->ring_fds().begin(), events_->ring_fds().end());
  if (whole_cpus()) {
    TEPHRA_TRY([[maybe_unused]] const bool done, events_->attach(-1));
    return {};
  }
  if (records_program()) {
    TEPHRA_TRY(const bool alive, events_->attach(program_->pid()));
    if (!alive) return base::failed("cannot record", options_.target.command[0], "it was killed before it started");
    return {};
  }
  TEPHRA_CHECK_OK(attach_processes());
  return attach_threads();
}

// Threads may start while we attach. One started by an attached thread inherits its events and must not get them twice;
// the side-band records tell which those are.
base::Status Recorder::attach_processes() {
  constexpr int kMaxPasses = 20;
  for (const pid_t pid : options_.target.processes) {
    std::set<pid_t> attached;
    bool found = true;
    for (int pass = 0; pass < kMaxPasses && found; ++pass) {
      found = false;
      const auto listed = kernel::threads_of(pid);
      for (const pid_t tid : listed) {
        if (attached.contains(tid)) continue;
        // Asked anew each time: a thread is listed before the record of its birth is in the ring.
        if (options_.target.inherit && !attached.empty() && events_->inherited_threads().contains(tid)) continue;
        TEPHRA_TRY(const bool alive, events_->attach(tid));
        if (alive) attached.insert(tid), found = true;
      }
    }
    if (attached.empty()) {
      return base::failed("cannot record process", std::to_string(pid), "no such process",
                          "See 'ps -e' for those there are.");
    }
    Watched watched;
    watched.pid = pid;
    watched.pidfd.reset(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    watched_.push_back(std::move(watched));
  }
  return {};
}

base::Status Recorder::attach_threads() {
  for (const pid_t tid : options_.target.threads) {
    TEPHRA_TRY(const bool alive, events_->attach(tid));
    if (!alive) {
      return base::failed("cannot record thread", std::to_string(tid), "no such thread",
                          "See 'ps -eL' for those there are.");
    }
    Watched watched;
    watched.pid = tid;
    watched.thread_fd = events_->last_task_fd();
    watched_.push_back(std::move(watched));
  }
  return {};
}

base::Status Recorder::open_file() {
  const auto described = events_->file_events();
  auto features = start_features(described, options_.command_line, support_.clockid);
  kernel_id_ = kernel_build_id();
  features.push_back(build_id_feature(kernel_id_, {}));
  if (std::any_of(specs_.begin(), specs_.end(), [](const auto& spec) { return spec.tracepoint(); })) {
    TEPHRA_TRY(Feature formats, tracing_data_feature(specs_));
    features.push_back(std::move(formats));
  }
  TEPHRA_TRY(writer_, PerfDataWriter::create(options_.output, described, features));
  TEPHRA_CHECK_OK(synthesize(events_->side_band_id()));
  return writer_->end_round();
}

base::Status Recorder::synthesize(uint64_t identifier) {
  Synthesizer existing(identifier, copies_stacks(), [this](base::Bytes bytes) { return writer_->append(bytes); });
  TEPHRA_CHECK_OK(existing.add_kernel());
  if (whole_cpus()) TEPHRA_CHECK_OK(existing.add_all_processes());
  for (const pid_t pid : options_.target.processes) TEPHRA_CHECK_OK(existing.add_process(pid));
  for (const pid_t tid : options_.target.threads) TEPHRA_CHECK_OK(existing.add_thread(tid));
  if (records_program()) existing.add_program(program_->pid(), ::getpid(), base_name(options_.target.command[0]));
  TEPHRA_CHECK_OK(existing.flush());
  files_ = existing.build_ids();
  return {};
}

// False: it could not be started.
bool Recorder::start_program() {
  if (!records_program()) events_->enable();
  if (program_) start_error_ = program_->start();
  return start_error_ == 0;
}

base::Status Recorder::loop() {
  while (!stop_) {
    wait_for_work();
    hear_signals();
    check_targets();
    if (options_.duration_s && elapsed() >= *options_.duration_s) stop_ = true;
    TEPHRA_CHECK_OK(drain());
    if (Clock::now() >= next_tick_) {
      next_tick_ = Clock::now() + kTick;
      tell_progress(false);
    }
  }
  return {};
}

// Until a ring is half full, a signal or the end of a target comes, or a second has passed.
void Recorder::wait_for_work() {
  std::vector<pollfd> waits;
  waits.push_back({inbox_->fd(), POLLIN, 0});
  for (const int fd : ring_fds_) waits.push_back({fd, POLLIN, 0});
  for (const Watched& watched : watched_) {
    if (watched.pidfd)
      waits.push_back({watched.pidfd.get(), POLLIN, 0});
    else if (watched.thread_fd >= 0)
      waits.push_back({watched.thread_fd, 0, 0});
  }
  double seconds = std::chrono::duration<double>(next_tick_ - Clock::now()).count();
  if (options_.duration_s) seconds = std::min(seconds, *options_.duration_s - elapsed());
  const auto milliseconds = static_cast<int>(std::ceil(std::clamp(seconds, 0.0, 60.0) * 1000));
  ::poll(waits.data(), waits.size(), milliseconds);
  // A ring whose CPU is gone would wake us without end; what is in it is still drained.
  for (const pollfd& wait : waits) {
    if (wait.revents & (POLLHUP | POLLERR | POLLNVAL)) std::erase(ring_fds_, wait.fd);
  }
}

void Recorder::hear_signals() {
  while (const int signal = inbox_->next()) {
    if (signal != SIGCHLD) interrupted_ = stop_ = true;
  }
  if (program_ && program_->poll()) {
    stop_ = true;
    if (records_program()) target_exited_ = true;
  }
}

void Recorder::check_targets() {
  if (watched_.empty()) return;
  std::erase_if(watched_, [](const Watched& watched) {
    if (watched.thread_fd >= 0) {
      pollfd wait{watched.thread_fd, 0, 0};
      return ::poll(&wait, 1, 0) > 0 && (wait.revents & (POLLHUP | POLLERR)) != 0;
    }
    if (!watched.pidfd) return !kernel::process_exists(watched.pid);
    pollfd wait{watched.pidfd.get(), POLLIN, 0};
    return ::poll(&wait, 1, 0) > 0;
  });
  if (watched_.empty()) target_exited_ = stop_ = true;
}

// One pass over all rings, then the end of a round: readers sort what lies between two ends of rounds, and rely on no
// ring having been skipped.
base::Status Recorder::drain() {
  const auto rings = events_->rings();
  for (size_t index = 0; index < rings.size(); ++index) {
    const kernel::Pending pending = rings[index].pending();
    if (pending.size() == 0) continue;
    scan_records(pending, counts_, files_);
    for (const base::Bytes part : pending.parts) {
      if (!part.empty()) batch_.push_back({const_cast<std::byte*>(part.data()), part.size()});
    }
    batch_rings_.emplace_back(index, pending.head);
    batch_bytes_ += pending.size();
    if (batch_bytes_ >= kBatchBytes) TEPHRA_CHECK_OK(flush_batch());
  }
  TEPHRA_CHECK_OK(flush_batch());
  return writer_->end_round();
}

base::Status Recorder::flush_batch() {
  if (batch_.empty()) return {};
  auto status = writer_->append(batch_);
  const auto rings = events_->rings();
  for (const auto& [index, head] : batch_rings_) rings[index].release(head);
  batch_.clear();
  batch_rings_.clear();
  batch_bytes_ = 0;
  return status;
}

void Recorder::tell_progress(bool finished) {
  if (on_progress_) on_progress_({elapsed(), counts_.samples, counts_.lost, writer_->bytes(), finished});
}

base::Status Recorder::conclude() {
  events_->disable();
  seconds_ = elapsed();
  TEPHRA_CHECK_OK(drain());
  // The kernel reports a loss with the next record that finds room. The last losses have no next record.
  if (const uint64_t total = events_->lost(); total > counts_.lost) {
    Synthesizer rest(events_->side_band_id(), false, [this](base::Bytes bytes) { return writer_->append(bytes); });
    rest.add_lost(total - counts_.lost, counts_.last_time);
    TEPHRA_CHECK_OK(rest.flush());
    TEPHRA_CHECK_OK(writer_->end_round());
    counts_.lost = total;
  }
  std::vector<Feature> features{build_id_feature(kernel_id_, files_)};
  if (counts_.samples > 0) features.push_back(sample_time_feature(counts_.first_time, counts_.last_time));
  TEPHRA_CHECK_OK(writer_->finish(features));
  tell_progress(true);
  return {};
}

// A program that outlives its recording is asked to end, and killed when we are asked a second time.
void Recorder::end_program() {
  if (!program_ || program_->poll()) return;
  program_->send(SIGTERM);
  program_->send(SIGCONT);  // a stopped program would never see it
  while (!program_->poll()) {
    pollfd wait{inbox_->fd(), POLLIN, 0};
    ::poll(&wait, 1, 1000);
    while (const int signal = inbox_->next()) {
      if (signal != SIGCHLD) program_->send(SIGKILL);
    }
  }
}

// After a failed write: keeps what readers can use, and says what became of it.
base::Error Recorder::salvage(base::Error error) {
  events_->disable();
  if (counts_.samples == 0 || writer_->rounds() < 2) {
    writer_->discard();
    error.fix += error.fix.empty() ? "Nothing was recorded." : " Nothing was recorded.";
  } else {
    error.fix +=
        fmt::format("{}The recording up to then is kept ({} bytes).", error.fix.empty() ? "" : " ", writer_->bytes());
  }
  end_program();
  return error;
}

RecordSummary Recorder::summary() const {
  RecordSummary result;
  result.samples = counts_.samples;
  result.lost = counts_.lost;
  result.throttled = counts_.throttled;
  result.bytes = writer_->bytes();
  result.rounds = writer_->rounds();
  result.seconds = seconds_;
  result.own_cpu_seconds = own_cpu_seconds() - cpu_before_;
  for (const FileEvent& event : events_->file_events()) {
    if (event.name.starts_with("dummy")) continue;
    result.event_name += (result.event_name.empty() ? "" : " and ") + event.name;
  }
  result.interrupted = interrupted_;
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
    cycles.name = "cycles";
    cycles.type = PERF_TYPE_HARDWARE;
    cycles.config = PERF_COUNT_HW_CPU_CYCLES;
    return cycles;
  }
  return kernel::software_event("cpu-clock");
}

base::Result<RecordSummary> record(const RecordOptions& options, const OnProgress& on_progress) {
  return Recorder(options, on_progress).run();
}

}  // namespace tephra::collect
