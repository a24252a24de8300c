#include "kernel/process_activity.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "base/file.h"
#include "kernel/procfs.h"
#include "kernel/status_text.h"

namespace tephra::kernel {
namespace {

using Clock = std::chrono::steady_clock;

// A process may have very many threads; looking at these takes milliseconds and tells as much.
constexpr size_t kThreadsLookedAt = 256;
constexpr auto kBetweenLooks = std::chrono::milliseconds(50);
// A process that ends takes its counts with it, so they are read now and then; not so often that it costs.
constexpr auto kBetweenSnapshots = std::chrono::milliseconds(250);
constexpr int kCostOfSnapshots = 10;

std::string proc_text(pid_t pid, const char* name) {
  auto text = base::read_small_file(fmt::format("/proc/{}/{}", pid, name));
  return text ? std::move(*text) : std::string();
}

// What is counted for each thread, and lost when it ends.
struct ThreadCounts {
  uint64_t run_ns = 0;
  uint64_t queued_ns = 0;
  uint64_t waits = 0;
};

ThreadCounts thread_counts(pid_t pid, pid_t tid) {
  ThreadCounts counts;
  const std::string folder = fmt::format("/proc/{}/task/{}", pid, tid);
  if (const auto text = base::read_small_file(folder + "/schedstat")) {
    unsigned long long run = 0;
    unsigned long long queued = 0;
    if (std::sscanf(text->c_str(), "%llu %llu", &run, &queued) == 2) counts = {run, queued, 0};
  }
  if (const auto text = base::read_small_file(folder + "/status")) {
    counts.waits = number_of(*text, "voluntary_ctxt_switches").value_or(0);
  }
  return counts;
}

struct Snapshot {
  Clock::time_point when;
  TaskStat process;
  std::map<pid_t, ThreadCounts> threads;
  std::optional<uint64_t> read_bytes;
  std::optional<uint64_t> written_bytes;
};

std::optional<Snapshot> snapshot(pid_t pid) {
  const auto stat = parse_task_stat(proc_text(pid, "stat"));
  if (!stat || stat->state == 'Z' || stat->state == 'X') return std::nullopt;
  Snapshot now;
  now.when = Clock::now();
  now.process = *stat;
  for (const pid_t tid : threads_of(pid)) now.threads[tid] = thread_counts(pid, tid);
  const std::string io = proc_text(pid, "io");
  now.read_bytes = number_of(io, "read_bytes");
  now.written_bytes = number_of(io, "write_bytes");
  return now;
}

void look_at_states(pid_t pid, ProcessActivity& activity) {
  const auto threads = threads_of(pid);
  const size_t step = std::max<size_t>(1, threads.size() / kThreadsLookedAt);
  for (size_t i = 0; i < threads.size(); i += step) {
    const auto text = base::read_small_file(fmt::format("/proc/{}/task/{}/stat", pid, threads[i]));
    const auto stat = text ? parse_task_stat(*text) : std::nullopt;
    if (!stat) continue;
    ++activity.looks;
    if (stat->state == 'R') ++activity.running;
    if (stat->state == 'D') ++activity.blocked;
  }
}

uint64_t grown(uint64_t before, uint64_t after) { return after > before ? after - before : 0; }

std::optional<uint64_t> grown(std::optional<uint64_t> before, std::optional<uint64_t> after) {
  if (!before || !after) return std::nullopt;
  return grown(*before, *after);
}

void add_difference(const Snapshot& before, const Snapshot& after, ProcessActivity& activity) {
  const double tick = 1.0 / static_cast<double>(::sysconf(_SC_CLK_TCK));
  activity.seconds = std::chrono::duration<double>(after.when - before.when).count();
  activity.user_seconds = static_cast<double>(grown(before.process.user_ticks, after.process.user_ticks)) * tick;
  activity.system_seconds = static_cast<double>(grown(before.process.system_ticks, after.process.system_ticks)) * tick;
  activity.minor_faults = grown(before.process.minor_faults, after.process.minor_faults);
  activity.major_faults = grown(before.process.major_faults, after.process.major_faults);
  activity.read_bytes = grown(before.read_bytes, after.read_bytes);
  activity.written_bytes = grown(before.written_bytes, after.written_bytes);
  activity.threads = after.threads.size();
  uint64_t run_ns = 0;
  uint64_t queued_ns = 0;
  for (const auto& [tid, now] : after.threads) {
    const auto found = before.threads.find(tid);
    const ThreadCounts then = found == before.threads.end() ? ThreadCounts{} : found->second;
    run_ns += grown(then.run_ns, now.run_ns);
    queued_ns += grown(then.queued_ns, now.queued_ns);
    activity.waits += grown(then.waits, now.waits);
  }
  activity.queued_seconds = static_cast<double>(queued_ns) * 1e-9;
  // Ticks are coarse, and miss what runs between them; the scheduler's own sum is exact, and misses threads that ended.
  const double exact = static_cast<double>(run_ns) * 1e-9;
  const double by_ticks = activity.user_seconds + activity.system_seconds;
  if (exact <= by_ticks) return;
  const double user_share = by_ticks > 0 ? activity.user_seconds / by_ticks : 1;
  activity.user_seconds = exact * user_share;
  activity.system_seconds = exact * (1 - user_share);
}

}  // namespace

std::optional<TaskStat> parse_task_stat(std::string_view text) {
  // The name, in brackets, may hold anything; the rest follows its last bracket.
  const size_t name_end = text.rfind(')');
  if (name_end == std::string_view::npos) return std::nullopt;
  const std::string fields(text.substr(name_end + 1));
  TaskStat stat;
  unsigned long long minor = 0;
  unsigned long long major = 0;
  unsigned long long user = 0;
  unsigned long long system = 0;
  if (std::sscanf(fields.c_str(), " %c %*d %*d %*d %*d %*d %*u %llu %*u %llu %*u %llu %llu", &stat.state, &minor,
                  &major, &user, &system) != 5) {
    return std::nullopt;
  }
  stat.minor_faults = minor;
  stat.major_faults = major;
  stat.user_ticks = user;
  stat.system_ticks = system;
  return stat;
}

std::optional<ProcessActivity> watch_process(pid_t pid, std::chrono::duration<double> time) {
  const auto before = snapshot(pid);
  if (!before) return std::nullopt;
  ProcessActivity activity;
  activity.threads = before->threads.size();
  const auto end = before->when + std::chrono::duration_cast<Clock::duration>(time);
  Snapshot last = *before;
  auto due = Clock::now() + kBetweenSnapshots;
  while (Clock::now() < end) {
    std::this_thread::sleep_for(std::min<Clock::duration>(kBetweenLooks, end - Clock::now()));
    look_at_states(pid, activity);
    const auto begun = Clock::now();
    if (begun < due && begun < end) continue;
    auto now = snapshot(pid);
    activity.ended = !now;
    if (!now) break;
    last = *std::move(now);
    due = Clock::now() + std::max<Clock::duration>(kBetweenSnapshots, (Clock::now() - begun) * kCostOfSnapshots);
  }
  add_difference(*before, last, activity);
  return activity;
}

}  // namespace tephra::kernel
