#include "collect/jit_watch.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>

#include "base/clock.h"
#include "kernel/procfs.h"
#include "stream/perf_file.h"

namespace tephra::collect {
namespace {

using Kind = JitSign::Kind;

constexpr size_t kMaxProcesses = 256;
constexpr size_t kMaxFilesOfProcess = 8;
constexpr size_t kMaxBegun = 100'000;
constexpr size_t kMaxLeftOut = 100'000;
constexpr uint64_t kMaxBytes = uint64_t{512} << 20;
constexpr size_t kMaxBytesAtOnce = 16 << 20;
// An address may be used again at any time: the pause decides how long it is not known by whom.
constexpr std::chrono::milliseconds kShortPause{250};
constexpr std::chrono::milliseconds kLongPause{1000};
constexpr std::chrono::milliseconds kLastPatience{2000};
constexpr std::chrono::milliseconds kLastReading{10'000};
// Before a process runs another program, which may write a file of the same name.
constexpr std::chrono::milliseconds kReadingBeforeExec{500};
// Files carry the time of the kernel's last tick, which is a little behind.
constexpr int64_t kClockSlack = 1'000'000'000;

int64_t time_of_day(uint64_t moment) {
  timespec time{};
  ::clock_gettime(CLOCK_REALTIME, &time);
  const int64_t now = int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  return now - static_cast<int64_t>(base::monotonic_ns()) + static_cast<int64_t>(moment);
}

}  // namespace

void JitWatch::tell_once(bool& told, const std::string& text) {
  if (!std::exchange(told, true) && note_) note_(text);
}

void JitWatch::hear(const JitSign& sign) {
  switch (sign.kind) {
    case Kind::kExec:
    case Kind::kFork:
      return begin_program(sign);
    case Kind::kExit:
      if (const auto known = processes_.find(sign.pid); known != processes_.end()) known->second.ended = true;
      begun_.erase(sign.pid);
      left_out_.erase(sign.pid);
      return;
    case Kind::kJitdump:
      if (Process* process = watch(sign)) add_file(*process, stream::JitBatch::Kind::kJitdump, sign.path);
      return;
    case Kind::kJavaVm:
      if (Process* process = watch(sign); process != nullptr && java_) {
        process->files.front().set_snapshots();
        java_maps_.add(sign.pid);
      }
      return;
    case Kind::kMemory:
      watch(sign);
  }
}

void JitWatch::begin_program(const JitSign& sign) {
  if (begun_.size() < kMaxBegun) begun_[sign.pid] = sign.time;
  if (const auto known = processes_.find(sign.pid); known != processes_.end()) {
    const auto end = Clock::now() + kReadingBeforeExec;
    // What the old program wrote last. Errors come back with the next look.
    (void)read_to_end(sign.pid, known->second, [end] { return Clock::now() < end; });
    processes_.erase(known);
    java_maps_.remove(sign.pid);
  }
  // A child goes on with its parent's code, and may write a map of its own.
  if (sign.kind == Kind::kFork && processes_.contains(sign.parent)) watch(sign);
}

JitWatch::Process* JitWatch::watch(const JitSign& sign) {
  if (const auto known = processes_.find(sign.pid); known != processes_.end()) return &known->second;
  if (processes_.size() >= kMaxProcesses) {
    leave_out(sign.pid);
    return nullptr;
  }
  auto root = kernel::open_process_root(sign.pid);
  // It has ended meanwhile, but its files may be here: those of our own user that were written since it began.
  if (!root && begun_.contains(sign.pid)) root = kernel::own_root(sign.pid);
  if (!root) return nullptr;
  Process process{.root = std::move(*root)};
  process.not_before = process.root.begun_ns - kClockSlack;
  if (const auto begun = begun_.find(sign.pid); begun != begun_.end()) {
    process.from = begun->second;
    process.not_before = std::max(process.not_before, time_of_day(begun->second) - kClockSlack);
  }
  if (processes_.empty()) next_look_ = Clock::now();
  Process& added = processes_.emplace(sign.pid, std::move(process)).first->second;
  add_file(added, stream::JitBatch::Kind::kPerfMap, fmt::format("/tmp/perf-{}.map", added.root.inner_pid));
  return &added;
}

void JitWatch::leave_out(pid_t pid) {
  tell_once(told_processes_,
            fmt::format("names of generated code are kept for the first {} processes that have some", kMaxProcesses));
  if (left_out_.size() >= kMaxLeftOut || !left_out_.insert(pid).second) return;
  stream::JitBatch batch{.kind = stream::JitBatch::Kind::kNotWatched, .pid = pid};
  batch.latest = base::monotonic_ns();
  // A log that cannot be written to says so with the next look.
  (void)log_.add(batch).ok();
}

void JitWatch::add_file(Process& process, stream::JitBatch::Kind kind, const std::string& path) {
  const bool known =
      std::any_of(process.files.begin(), process.files.end(), [&](const JitFile& file) { return file.path() == path; });
  if (known || process.files.size() >= kMaxFilesOfProcess) return;
  process.files.emplace_back(kind, path, next_source_++, process.from);
}

base::Result<JitWatch::Looks> JitWatch::look_at(pid_t pid, Process& process) {
  Looks looks;
  for (JitFile& file : process.files) {
    const size_t most = std::min<uint64_t>(kMaxBytes - std::min(kMaxBytes, bytes_), kMaxBytesAtOnce);
    TEPHRA_TRY(const JitFile::Look look, file.look(process.root, pid, process.not_before, most,
                                                   [this](const stream::JitBatch& batch) { return log_.add(batch); }));
    bytes_ += look.taken;
    looks.taken = looks.taken || look.taken > 0;
    // Where nothing was taken of more, there is no room for it.
    looks.more = looks.more || (look.more && look.taken > 0);
  }
  return looks;
}

base::Status JitWatch::tell_left_out(pid_t pid, Process& process) {
  for (JitFile& file : process.files) {
    if (!file.is_cut()) continue;
    tell_once(
        told_left_out_,
        fmt::format("names of generated code are missing: {} of process {} was not read to its end", file.path(), pid));
    stream::JitBatch batch{.kind = stream::JitBatch::Kind::kLeftOut, .pid = pid, .source = file.source()};
    batch.latest = base::monotonic_ns();
    TEPHRA_CHECK_OK(log_.add(batch));
  }
  process.files.clear();
  return {};
}

base::Status JitWatch::read_to_end(pid_t pid, Process& process, const std::function<bool()>& may_go_on) {
  for (bool more = true; more && may_go_on();) {
    TEPHRA_TRY(const Looks looks, look_at(pid, process));
    more = looks.more;
  }
  return tell_left_out(pid, process);
}

base::Result<JitWatch::Looks> JitWatch::look_at_all() {
  Looks all;
  for (auto at = processes_.begin(); at != processes_.end();) {
    const bool gone = at->second.ended && !kernel::process_exists(at->first);
    TEPHRA_TRY(const Looks looks, look_at(at->first, at->second));
    all = {all.taken || looks.taken, all.more || looks.more};
    // A long map takes several looks; it stays there.
    if (!gone || looks.more) {
      ++at;
      continue;
    }
    TEPHRA_CHECK_OK(tell_left_out(at->first, at->second));
    java_maps_.remove(at->first);
    at = processes_.erase(at);
  }
  return all;
}

base::Status JitWatch::look(Clock::time_point now) {
  if (processes_.empty() || now < next_look_) return {};
  if (const auto refusal = java_maps_.ask(now)) {
    tell_once(told_java_, "no names of compiled Java methods: " + *refusal);
  }
  TEPHRA_TRY(const Looks looks, look_at_all());
  pause_ = looks.taken ? kShortPause : std::min(kLongPause, std::max(kShortPause, pause_ * 2));
  next_look_ = Clock::now() + pause_;
  return {};
}

base::Status JitWatch::last_look(const std::function<bool()>& hurry) {
  bool hurried = false;
  const auto in_hurry = [&] { return hurried = hurried || hurry(); };
  java_maps_.ask_last(kLastPatience, in_hurry);
  const auto end = Clock::now() + kLastReading;
  const auto may_go_on = [&] { return Clock::now() < end && !in_hurry(); };
  // The files of every process are looked at once, however little time there is.
  for (auto& [pid, process] : processes_) {
    TEPHRA_TRY(const Looks first, look_at(pid, process));
    TEPHRA_CHECK_OK(first.more ? read_to_end(pid, process, may_go_on) : tell_left_out(pid, process));
  }
  processes_.clear();
  return {};
}

Feature JitWatch::feature() {
  auto section = log_.section();
  return {stream::kFeatureTephraJit, section ? std::move(*section) : std::string()};
}

}  // namespace tephra::collect
