#include "analysis/sched_latency.h"

#include <algorithm>
#include <cmath>

#include "analysis/sched_tasks.h"

namespace tephra::analysis {
namespace {

using stream::Interrupt;
using stream::Origin;
using stream::SchedSwitch;
using stream::SchedWakeup;

// Of a run queue so many chosen threads are followed at most: each costs time at every switch.
constexpr size_t kMostWaiting = 1024;

// What is known of a thread at a moment.
struct Task {
  enum class State { kUnknown, kRunning, kWaiting, kSleeping, kEnded };

  State state = State::kUnknown;
  uint64_t since = 0;       // of the state
  int32_t cpu = -1;         // where it runs or waits
  int32_t preemptor = -1;   // while it waits: who took its CPU; -1: it was woken
  uint64_t counted_to = 0;  // while it waits: up to where it is known who ran instead
  bool seen = false;
  std::unordered_map<int32_t, Preemptor, base::NumberHash> preemptors;
  std::map<std::pair<stream::InterruptKind, std::pair<int32_t, std::string>>, InterruptTime> interrupts;
  std::unordered_map<int32_t, RanInstead, base::NumberHash> ran_instead;
};

struct Cpu {
  int32_t tid = -1;  // who runs; -1: not known
  uint64_t since = 0;
  bool switched = false;  // a switch was seen
  uint64_t first_event = 0;
  int32_t first_tid = -1;
  // Interrupts that run, one of each kind at most.
  struct Running {
    bool on = false;
    uint64_t since = 0;
    uint64_t inside = 0;  // time of others that interrupted this one
    int32_t number = 0;
    std::string name;
  };
  Running interrupts[stream::kInterruptKinds];
  std::vector<uint32_t> waiting;  // chosen tasks on its run queue
};

class LatencyReader {
 public:
  LatencyReader(const stream::Recording& recording, const stream::SchedEvents& events,
                const SchedLatencyOptions& options)
      : options_(options), lost_(stream::LostSpans::of(recording)), names_(recording) {
    using Kind = stream::SchedEvents::Kind;
    result_.lost = lost_.count();
    result_.from_waking = events.has(Kind::kWaking) && options.from == DelayFrom::kBest;
    result_.wakeups_recorded = result_.from_waking || events.has(Kind::kWakeup);
    result_.migrations_recorded = events.has(Kind::kMigrate);
    result_.interrupts_recorded = events.has(Kind::kIrqEntry) || events.has(Kind::kSoftEntry);
    if (const auto& recorder = recording.recorder; recorder && recorder->steal_seconds && recorder->cpu_seconds_total) {
      if (*recorder->cpu_seconds_total > 0) {
        result_.steal_share = std::clamp(*recorder->steal_seconds / *recorder->cpu_seconds_total, 0.0, 1.0);
      }
    }
  }

  void take(const stream::Sample& sample, const stream::SchedEvent& event) {
    now_ = sample.origin.time;
    if (now_ < options_.begin || now_ > options_.end || sample.origin.cpu < 0) return;
    note(sample.origin);
    std::visit([&](const auto& what) { take_one(sample.origin, what); }, event);
  }

  SchedLatency finish();

 private:
  void note(const Origin& origin);
  void take_one(const Origin&, std::monostate) {}
  void take_one(const Origin& origin, const SchedSwitch& what);
  void take_one(const Origin& origin, const SchedWakeup& what);
  void take_one(const Origin& origin, const stream::SchedMigration& what);
  void take_one(const Origin&, const stream::SchedRuntime& what) {
    threads_[task_of(what.task)].accounted += what.nanoseconds;
  }
  void take_one(const Origin&, const stream::SchedFork& what);
  void take_one(const Origin&, const stream::SchedExit&) {}
  void take_one(const Origin& origin, const Interrupt& what);

  uint32_t task_of(const stream::SchedTask& task);
  uint32_t task_of(int32_t tid) { return task_of(stream::SchedTask{tid, {}}); }
  void end_run(Cpu& cpu, int32_t cpu_number, uint32_t previous);
  void begin_run(uint32_t next, int32_t cpu_number);
  void end_wait(uint32_t index);
  void begin_wait(uint32_t index, int32_t cpu_number, int32_t preemptor);
  void enter_queue(uint32_t index);
  void leave_queue(uint32_t index);
  void count_ran_instead(Cpu& cpu, int32_t cpu_number);
  void count_ran_instead(uint32_t waiting, const Cpu& cpu, int32_t cpu_number);
  void end_interrupt(Cpu& cpu, const Origin& origin, const Interrupt& what);
  void finish_cpu(const Cpu& cpu, int32_t number);
  void finish_thread(uint32_t index);
  void forget_ended(int32_t tid);
  bool chosen(uint32_t index) const;

  const SchedLatencyOptions& options_;
  const stream::LostSpans lost_;
  SchedTasks names_;
  SchedLatency result_;
  uint64_t now_ = 0;
  std::vector<SchedThread> threads_;
  std::vector<Task> tasks_;                                         // one for each thread
  std::unordered_map<int32_t, uint32_t, base::NumberHash> by_tid_;  // the newest thread of that number
  std::map<int32_t, Cpu> cpus_;
};

void LatencyReader::note(const Origin& origin) {
  if (result_.begin == 0) result_.begin = now_;
  result_.end = std::max(result_.end, now_);
  Cpu& cpu = cpus_[origin.cpu];
  if (cpu.first_event == 0) {
    cpu.first_event = now_;
    cpu.first_tid = origin.tid;
  }
  names_.note(origin);
}

uint32_t LatencyReader::task_of(const stream::SchedTask& task) {
  const auto [found, is_new] = by_tid_.try_emplace(task.tid, static_cast<uint32_t>(threads_.size()));
  if (is_new) {
    threads_.emplace_back().tid = task.tid;
    tasks_.emplace_back();
  }
  if (!task.comm.empty()) names_.note(task);
  return found->second;
}

bool LatencyReader::chosen(uint32_t index) const {
  const int32_t tid = threads_[index].tid;
  return tid != 0 && options_.choice.takes(names_.pid(tid), tid, names_.comm(tid));
}

// The number belongs to a new thread from here on; what is known of an earlier one stays its own.
void LatencyReader::forget_ended(int32_t tid) {
  const auto found = by_tid_.find(tid);
  if (found == by_tid_.end() || tasks_[found->second].state != Task::State::kEnded) return;
  finish_thread(found->second);
  by_tid_.erase(found);
}

void LatencyReader::take_one(const Origin&, const stream::SchedFork& what) {
  forget_ended(what.child.tid);
  names_.note_fork(what);
  task_of(what.child);
}

void LatencyReader::take_one(const Origin& origin, const SchedSwitch& what) {
  Cpu& cpu = cpus_[origin.cpu];
  ++result_.switches;
  const uint32_t previous = task_of(what.previous);
  const uint32_t next = task_of(what.next);
  end_run(cpu, origin.cpu, previous);
  if (what.next.tid != 0) end_wait(next);
  Task& left = tasks_[previous];
  if (left.state == Task::State::kWaiting) {  // when it came to run was not recorded
    ++threads_[previous].unknown_delays;
    leave_queue(previous);
  }
  left.seen = true;
  left.since = now_;
  if (what.previous.tid == 0) {
    left.state = Task::State::kSleeping;
  } else if (what.state.runnable()) {
    ++threads_[previous].preempted;
    begin_wait(previous, origin.cpu, what.next.tid);
  } else {
    left.state = what.state.ended() ? Task::State::kEnded : Task::State::kSleeping;
  }
  begin_run(next, origin.cpu);
  cpu.tid = what.next.tid;
  cpu.since = now_;
  cpu.switched = true;
}

// What ran on the CPU until now is `previous`. Where that does not fit what is known, or records were lost, nothing is
// known of the time.
void LatencyReader::end_run(Cpu& cpu, int32_t cpu_number, uint32_t previous) {
  SchedThread& thread = threads_[previous];
  const uint64_t since = cpu.switched ? cpu.since : cpu.first_event;
  const bool fits = cpu.switched ? cpu.tid == thread.tid : since == now_ || cpu.first_tid == thread.tid;
  if (!fits || since > now_ || lost_.touch(cpu_number, since, now_)) {
    ++result_.unknown_runs;
    ++thread.unknown_runs;
    for (const uint32_t waiting : cpu.waiting) tasks_[waiting].counted_to = now_;
    return;
  }
  (cpu.switched ? thread.run : thread.edge_run) += now_ - since;
  thread.runs += cpu.switched ? 1 : 0;
  cpu.tid = thread.tid;
  cpu.since = since;
  count_ran_instead(cpu, cpu_number);
}

void LatencyReader::begin_run(uint32_t next, int32_t cpu_number) {
  Task& task = tasks_[next];
  SchedThread& thread = threads_[next];
  // Without events about migrations, a run on another CPU than the last one is what can be seen of them.
  if (!result_.migrations_recorded && task.cpu >= 0 && task.cpu != cpu_number && thread.tid != 0) ++thread.migrations;
  if (!task.seen) thread.first_seen_switched_in = true;
  task.seen = true;
  task.state = Task::State::kRunning;
  task.since = now_;
  task.cpu = cpu_number;
  task.preemptor = -1;
}

void LatencyReader::end_wait(uint32_t index) {
  Task& task = tasks_[index];
  SchedThread& thread = threads_[index];
  if (task.state != Task::State::kWaiting) {
    if (task.seen) ++thread.runs_without_a_wakeup;
    return;
  }
  leave_queue(index);
  if (task.since > now_ || lost_.touch(task.since, now_)) {
    ++thread.unknown_delays;
    return;
  }
  const uint64_t waited = now_ - task.since;
  thread.delays.add(task.since, now_);
  if (task.preemptor < 0) {
    ++thread.woken;
    return;
  }
  thread.preempted_waited += waited;
  Preemptor& preemptor = task.preemptors[task.preemptor];
  preemptor.tid = task.preemptor;
  ++preemptor.times;
  preemptor.waited += waited;
}

void LatencyReader::begin_wait(uint32_t index, int32_t cpu_number, int32_t preemptor) {
  Task& task = tasks_[index];
  task.state = Task::State::kWaiting;
  task.since = now_;
  task.counted_to = now_;
  task.preemptor = preemptor;
  task.seen = true;
  if (cpu_number >= 0) task.cpu = cpu_number;
  enter_queue(index);
}

void LatencyReader::enter_queue(uint32_t index) {
  const int32_t cpu = tasks_[index].cpu;
  if (!options_.ran_instead || cpu < 0 || !chosen(index)) return;
  std::vector<uint32_t>& queue = cpus_[cpu].waiting;
  if (queue.size() >= kMostWaiting) {
    ++threads_[index].waits_not_followed;
    return;
  }
  queue.push_back(index);
}

void LatencyReader::leave_queue(uint32_t index) {
  if (!options_.ran_instead || tasks_[index].cpu < 0) return;
  std::vector<uint32_t>& queue = cpus_[tasks_[index].cpu].waiting;
  queue.erase(std::remove(queue.begin(), queue.end(), index), queue.end());
}

void LatencyReader::take_one(const Origin&, const SchedWakeup& what) {
  if (what.task.tid == 0) return;
  if (what.kind == SchedWakeup::Kind::kNew) forget_ended(what.task.tid);
  const uint32_t index = task_of(what.task);
  Task& task = tasks_[index];
  const auto unwanted = result_.from_waking ? SchedWakeup::Kind::kWakeup : SchedWakeup::Kind::kWaking;
  const bool can_wake = task.state == Task::State::kSleeping || task.state == Task::State::kUnknown;
  if (what.kind == unwanted || !can_wake) return;
  begin_wait(index, what.target_cpu, -1);
}

void LatencyReader::take_one(const Origin&, const stream::SchedMigration& what) {
  const uint32_t index = task_of(what.task);
  ++threads_[index].migrations;
  Task& task = tasks_[index];
  if (task.state != Task::State::kWaiting) return;
  if (task.cpu >= 0) count_ran_instead(index, cpus_[task.cpu], task.cpu);
  leave_queue(index);
  task.cpu = what.to_cpu;
  task.counted_to = now_;
  enter_queue(index);
}

void LatencyReader::count_ran_instead(Cpu& cpu, int32_t cpu_number) {
  for (const uint32_t waiting : cpu.waiting) count_ran_instead(waiting, cpu, cpu_number);
}

// The thread waited for this CPU until now, which ran another.
void LatencyReader::count_ran_instead(uint32_t waiting, const Cpu& cpu, int32_t cpu_number) {
  if (!options_.ran_instead || cpu.tid < 0 || !chosen(waiting)) return;
  Task& task = tasks_[waiting];
  const uint64_t from = std::max(cpu.since, task.counted_to);
  task.counted_to = now_;
  if (from >= now_ || lost_.touch(cpu_number, from, now_)) return;
  RanInstead& other = task.ran_instead[cpu.tid];
  other.tid = cpu.tid;
  ++other.times;
  other.waited += now_ - from;
}

void LatencyReader::take_one(const Origin& origin, const Interrupt& what) {
  Cpu& cpu = cpus_[origin.cpu];
  Cpu::Running& running = cpu.interrupts[static_cast<size_t>(what.kind)];
  if (!what.entry) {
    end_interrupt(cpu, origin, what);
    return;
  }
  running.on = true;
  running.since = now_;
  running.inside = 0;
  running.number = what.number;
  running.name.assign(what.name);
}

void LatencyReader::end_interrupt(Cpu& cpu, const Origin& origin, const Interrupt& what) {
  Cpu::Running& running = cpu.interrupts[static_cast<size_t>(what.kind)];
  if (!running.on || running.number != what.number) return;  // its begin was not recorded
  running.on = false;
  if (running.since > now_ || lost_.touch(origin.cpu, running.since, now_)) return;
  const uint64_t whole = now_ - running.since;
  // Each kind can only be inside those that nest further out.
  for (size_t outer = static_cast<size_t>(what.kind); outer-- > 0;) {
    if (!cpu.interrupts[outer].on) continue;
    cpu.interrupts[outer].inside += whole;
    break;
  }
  if (origin.tid <= 0) return;  // the idle task lost nothing
  Task& task = tasks_[task_of(origin.tid)];
  InterruptTime& time = task.interrupts[{what.kind, {running.number, running.name}}];
  const uint64_t own = whole - std::min(whole, running.inside);
  time.kind = what.kind;
  time.number = running.number;
  time.name = running.name;
  ++time.times;
  time.total += own;
  time.worst = std::max(time.worst, own);
}

// Who ran last ran on to the end; where nothing was switched, who was there at first was there all along. That holds
// where all switches are recorded, which it seems they are not where most do not fit together.
void LatencyReader::finish_cpu(const Cpu& cpu, int32_t number) {
  if (result_.unknown_runs > result_.switches / 2) return;
  const int32_t tid = cpu.switched ? cpu.tid : cpu.first_tid;
  const uint64_t since = cpu.switched ? cpu.since : cpu.first_event;
  if (tid < 0 || since > result_.end || lost_.touch(number, since, result_.end)) return;
  threads_[task_of(tid)].edge_run += result_.end - since;
}

template <class Value>
std::vector<Value> by_time(std::vector<Value> values, uint64_t Value::*time) {
  std::stable_sort(values.begin(), values.end(), [&](const Value& a, const Value& b) { return a.*time > b.*time; });
  return values;
}

template <class Map>
auto values_of(const Map& map) {
  std::vector<typename Map::mapped_type> values;
  values.reserve(map.size());
  for (const auto& [key, value] : map) values.push_back(value);
  return values;
}

void LatencyReader::finish_thread(uint32_t index) {
  SchedThread& thread = threads_[index];
  Task& task = tasks_[index];
  thread.comm = names_.comm(thread.tid);
  thread.pid = names_.pid(thread.tid);
  thread.delays.finish();
  const bool waits = task.state == Task::State::kWaiting && task.since <= result_.end;
  if (waits && !lost_.touch(task.since, result_.end)) thread.waiting_since = task.since;
  auto preemptors = values_of(task.preemptors);
  std::sort(preemptors.begin(), preemptors.end(), [](const auto& a, const auto& b) { return a.tid < b.tid; });
  thread.preemptors = by_time(std::move(preemptors), &Preemptor::waited);
  auto others = values_of(task.ran_instead);
  std::sort(others.begin(), others.end(), [](const auto& a, const auto& b) { return a.tid < b.tid; });
  thread.ran_instead = by_time(std::move(others), &RanInstead::waited);
  thread.interrupts = by_time(values_of(task.interrupts), &InterruptTime::total);
}

SchedLatency LatencyReader::finish() {
  for (const auto& [number, cpu] : cpus_) finish_cpu(cpu, number);
  result_.cpus = static_cast<uint64_t>(
      std::count_if(cpus_.begin(), cpus_.end(), [](const auto& entry) { return entry.second.first_event != 0; }));
  for (uint32_t index = 0; index < threads_.size(); ++index) {
    // Those whose number was given to another thread are finished already.
    const auto found = by_tid_.find(threads_[index].tid);
    if (found != by_tid_.end() && found->second == index) finish_thread(index);
  }
  for (SchedThread& thread : threads_) {
    if (thread.tid == 0) result_.idle = thread.whole_run();
    if (thread.tid <= 0 || !options_.choice.takes(thread.pid, thread.tid, thread.comm)) continue;
    for (const Preemptor& preemptor : thread.preemptors) result_.names[preemptor.tid] = names_.comm(preemptor.tid);
    for (const RanInstead& other : thread.ran_instead) result_.names[other.tid] = names_.comm(other.tid);
    result_.threads.push_back(std::move(thread));
  }
  return std::move(result_);
}

}  // namespace

void RunQueueDelays::add(uint64_t from, uint64_t to) {
  const uint64_t delay = to - from;
  each.push_back(delay);
  total += delay;
  if (delay <= worst) return;
  worst = delay;
  worst_from = from;
  worst_to = to;
}

void RunQueueDelays::add(const RunQueueDelays& other) {
  each.insert(each.end(), other.each.begin(), other.each.end());
  total += other.total;
  if (other.worst <= worst) return;
  worst = other.worst;
  worst_from = other.worst_from;
  worst_to = other.worst_to;
}

void RunQueueDelays::finish() { std::sort(each.begin(), each.end()); }

uint64_t RunQueueDelays::quantile(double share) const {
  if (each.empty()) return 0;
  const auto rank = static_cast<size_t>(std::ceil(share * static_cast<double>(each.size())));
  return each[std::clamp<size_t>(rank, 1, each.size()) - 1];
}

uint64_t SchedThread::interrupted() const {
  uint64_t sum = 0;
  for (const InterruptTime& time : interrupts) sum += time.total;
  return sum;
}

bool SchedChoice::takes(int32_t pid, int32_t tid, const std::string& comm) const {
  const auto has = [](const auto& list, const auto& value) {
    return list.empty() || std::find(list.begin(), list.end(), value) != list.end();
  };
  return has(pids, pid) && has(tids, tid) && has(comms, comm);
}

SchedLatency sched_latency(const stream::Recording& recording, const stream::SchedEvents& events,
                           const SchedLatencyOptions& options) {
  LatencyReader reader(recording, events, options);
  stream::for_each_sched_event(recording, events, [&](const stream::Sample& sample, const stream::SchedEvent& event) {
    reader.take(sample, event);
  });
  return reader.finish();
}

std::vector<SchedThread> merged_by_name(std::vector<SchedThread> threads) {
  std::vector<SchedThread> merged;
  std::map<std::string, size_t> places;
  for (SchedThread& thread : threads) {
    const auto [place, is_new] = places.try_emplace(thread.comm, merged.size());
    if (is_new) {
      merged.push_back(std::move(thread));
      continue;
    }
    SchedThread& into = merged[place->second];
    into.threads += thread.threads;
    into.run += thread.run;
    into.edge_run += thread.edge_run;
    into.runs += thread.runs;
    into.unknown_runs += thread.unknown_runs;
    into.accounted += thread.accounted;
    into.delays.add(thread.delays);
    into.woken += thread.woken;
    into.preempted += thread.preempted;
    into.preempted_waited += thread.preempted_waited;
    into.unknown_delays += thread.unknown_delays;
    into.runs_without_a_wakeup += thread.runs_without_a_wakeup;
    into.waits_not_followed += thread.waits_not_followed;
    into.migrations += thread.migrations;
    if (thread.waiting_since)
      into.waiting_since = std::min(into.waiting_since.value_or(UINT64_MAX), *thread.waiting_since);
    into.preemptors.insert(into.preemptors.end(), thread.preemptors.begin(), thread.preemptors.end());
    into.interrupts.insert(into.interrupts.end(), thread.interrupts.begin(), thread.interrupts.end());
  }
  for (SchedThread& thread : merged) thread.delays.finish();
  return merged;
}

void sort_threads(std::vector<SchedThread>& threads, const std::vector<SchedSort>& keys) {
  const auto value = [](const SchedThread& thread, SchedSort key) -> uint64_t {
    switch (key) {
      case SchedSort::kAverage:
        return thread.delays.average();
      case SchedSort::kWorst:
        return thread.delays.worst;
      case SchedSort::kSwitches:
        return thread.delays.count();
      case SchedSort::kRunTime:
        return thread.whole_run();
      case SchedSort::kTid:
        return UINT64_MAX - static_cast<uint64_t>(static_cast<uint32_t>(thread.tid));
    }
    return 0;
  };
  std::stable_sort(threads.begin(), threads.end(), [&](const SchedThread& a, const SchedThread& b) {
    for (const SchedSort key : keys) {
      const uint64_t first = value(a, key);
      const uint64_t second = value(b, key);
      if (first != second) return first > second;
    }
    return a.tid < b.tid;
  });
}

}  // namespace tephra::analysis
