#include "analysis/sched_timeline.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

#include "analysis/sched_tasks.h"

namespace tephra::analysis {
namespace {

using stream::Origin;
using stream::SchedSwitch;
using stream::SchedWakeup;

class TimelineReader {
 public:
  TimelineReader(const stream::Recording& recording, const stream::SchedEvents& events, const TimelineOptions& options,
                 const std::function<void(const TimelineEntry&)>& visit)
      : options_(options), visit_(visit), lost_(stream::LostSpans::of(recording)), names_(recording) {
    from_waking_ = events.has(stream::SchedEvents::Kind::kWaking) && options.from == DelayFrom::kBest;
    result_.lost = lost_.count();
  }

  void take(const stream::Sample& sample, const stream::SchedEvent& event) {
    if (sample.origin.cpu < 0) return;
    names_.note(sample.origin);
    std::visit([&](const auto& what) { take_one(sample.origin, what); }, event);
  }

  Timeline finish();

 private:
  struct Task {
    uint64_t last_left = 0;  // when it left its CPU last; 0: not seen
    uint64_t ready = 0;      // when it was woken since; 0: it was not
    TimelineTotals totals;
  };
  struct Cpu {
    uint64_t last_switch = 0;
    int32_t runs = -1;  // who came then
    uint64_t idle = 0;
    Task idle_task;  // each CPU has its own
  };

  template <class Other>
  void take_one(const Origin&, const Other&) {}
  void take_one(const Origin& origin, const SchedSwitch& what);
  void take_one(const Origin& origin, const SchedWakeup& what);
  void take_one(const Origin& origin, const stream::SchedMigration& what);
  void take_one(const Origin&, const stream::SchedFork& what);

  TimelineTask describe(int32_t tid) const { return {tid, names_.pid(tid), names_.comm(tid)}; }
  bool takes(const TimelineTask& task) const { return options_.choice.takes(task.pid, task.tid, task.comm); }
  bool takes_cpu(int32_t cpu) const {
    return options_.cpus.empty() || std::find(options_.cpus.begin(), options_.cpus.end(), cpu) != options_.cpus.end();
  }
  bool takes_time(uint64_t time) const { return options_.begin <= time && time <= options_.end; }
  void tell_run(const Origin& origin, const SchedSwitch& what, Task& task, uint64_t in);
  void measure(const Task& task, int32_t cpu, uint64_t in, uint64_t out, TimelineEntry& entry) const;

  const TimelineOptions& options_;
  const std::function<void(const TimelineEntry&)>& visit_;
  const stream::LostSpans lost_;
  SchedTasks names_;
  bool from_waking_ = false;
  Timeline result_;
  std::unordered_map<int32_t, Task, base::NumberHash> tasks_;
  std::map<int32_t, Cpu> cpus_;
};

void TimelineReader::take_one(const Origin& origin, const SchedSwitch& what) {
  names_.note(what.previous);
  names_.note(what.next);
  Cpu& cpu = cpus_[origin.cpu];
  Task& task = what.previous.tid == 0 ? cpu.idle_task : tasks_[what.previous.tid];
  // A run that began before the window is told from its begin on.
  const uint64_t in = cpu.last_switch != 0 && cpu.last_switch < options_.begin ? options_.begin : cpu.last_switch;
  const bool shown = origin.time >= options_.begin && in <= options_.end;
  if (shown && takes(describe(what.previous.tid))) tell_run(origin, what, task, in);
  if (takes_time(origin.time)) {
    if (result_.begin == 0) result_.begin = origin.time;
    result_.end = origin.time;
  }
  task.last_left = origin.time;
  task.ready = 0;
  if (what.previous.tid != 0) task.totals.ended = what.state.ended();
  cpu.last_switch = origin.time;
  cpu.runs = what.next.tid;
}

void TimelineReader::tell_run(const Origin& origin, const SchedSwitch& what, Task& task, uint64_t in) {
  TimelineEntry entry;
  entry.time = std::min(origin.time, options_.end);
  entry.cpu = origin.cpu;
  entry.task = describe(what.previous.tid);
  entry.other = describe(what.next.tid);
  entry.state = what.state;
  if (const int32_t ran = cpus_[origin.cpu].runs; ran >= 0 && ran != what.previous.tid) {
    entry.run_known = entry.wait_known = false;  // when it came to run was not recorded
  } else {
    measure(task, origin.cpu, in, entry.time, entry);
  }
  ++result_.switches;
  if (!takes_cpu(origin.cpu)) return;
  if (what.previous.tid == 0) {
    cpus_[origin.cpu].idle += entry.run;
  } else {
    if (entry.run_known) task.totals.add(entry.run);
    task.totals.wait += entry.wait;
    task.totals.delay += entry.delay;
  }
  visit_(entry);
}

void TimelineReader::measure(const Task& task, int32_t cpu, uint64_t in, uint64_t out, TimelineEntry& entry) const {
  if (in == 0 || in > out) return;
  entry.run_known = !lost_.touch(cpu, in, out);
  if (entry.run_known) entry.run = out - in;
  if (task.last_left == 0 || task.last_left > in) {
    if (task.last_left == 0 && task.ready != 0 && task.ready <= in) {
      entry.wait_known = !lost_.touch(task.ready, in);
      if (entry.wait_known) entry.delay = in - task.ready;
    }
    return;
  }
  entry.wait_known = entry.run_known && !lost_.touch(task.last_left, in);
  if (!entry.wait_known) return;
  entry.wait = in - task.last_left;
  if (task.ready != 0 && task.ready <= in) entry.delay = in - task.ready;
}

void TimelineReader::take_one(const Origin& origin, const SchedWakeup& what) {
  names_.note(what.task);
  const auto unwanted = from_waking_ ? SchedWakeup::Kind::kWakeup : SchedWakeup::Kind::kWaking;
  if (what.kind == unwanted || what.task.tid == 0) return;
  Task& task = tasks_[what.task.tid];
  if (task.ready == 0) task.ready = origin.time;
  TimelineEntry entry;
  entry.kind = TimelineEntry::Kind::kWakeup;
  entry.time = origin.time;
  entry.cpu = origin.cpu;
  entry.task = describe(origin.tid);
  entry.other = describe(what.task.tid);
  if (takes_time(origin.time) && takes_cpu(origin.cpu) && (takes(entry.task) || takes(entry.other))) visit_(entry);
}

// Where the number belonged to another thread before, what that one did says nothing of this one.
void TimelineReader::take_one(const Origin&, const stream::SchedFork& what) {
  names_.note_fork(what);
  const auto found = tasks_.find(what.child.tid);
  if (found != tasks_.end() && found->second.totals.ended) found->second.last_left = found->second.ready = 0;
}

void TimelineReader::take_one(const Origin& origin, const stream::SchedMigration& what) {
  names_.note(what.task);
  if (!takes_time(origin.time)) return;
  ++tasks_[what.task.tid].totals.migrations;
  TimelineEntry entry;
  entry.kind = TimelineEntry::Kind::kMigration;
  entry.time = origin.time;
  entry.cpu = origin.cpu;
  entry.task = describe(origin.tid);
  entry.other = describe(what.task.tid);
  entry.from_cpu = what.from_cpu;
  entry.to_cpu = what.to_cpu;
  if (takes_cpu(origin.cpu) && (takes(entry.task) || takes(entry.other))) visit_(entry);
}

Timeline TimelineReader::finish() {
  for (auto& [tid, task] : tasks_) {
    if (tid == 0 || task.totals.runs == 0) continue;
    task.totals.task = describe(tid);
    task.totals.parent = names_.parent(tid);
    result_.threads.push_back(std::move(task.totals));
  }
  std::sort(result_.threads.begin(), result_.threads.end(),
            [](const TimelineTotals& a, const TimelineTotals& b) { return a.task.tid < b.task.tid; });
  for (const auto& [number, cpu] : cpus_) result_.idle.emplace_back(number, cpu.idle);
  return std::move(result_);
}

}  // namespace

void TimelineTotals::add(uint64_t run) {
  ++runs;
  total += run;
  shortest = std::min(shortest, run);
  longest = std::max(longest, run);
  const double distance = static_cast<double>(run) - mean;
  mean += distance / static_cast<double>(runs);
  squares += distance * (static_cast<double>(run) - mean);
}

double TimelineTotals::relative_error() const {
  if (runs < 2 || mean <= 0) return 0;
  const auto count = static_cast<double>(runs);
  return 100 * std::sqrt(squares / (count - 1) / count) / mean;
}

Timeline sched_timeline(const stream::Recording& recording, const stream::SchedEvents& events,
                        const TimelineOptions& options, const std::function<void(const TimelineEntry&)>& visit) {
  TimelineReader reader(recording, events, options, visit);
  stream::for_each_sched_event(recording, events, [&](const stream::Sample& sample, const stream::SchedEvent& event) {
    reader.take(sample, event);
  });
  return reader.finish();
}

}  // namespace tephra::analysis
