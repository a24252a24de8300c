// What happens on the machine: time, counting, sampling, and records about tasks.
#include <sys/socket.h>

#include <algorithm>
#include <cmath>

#include "attr_check.h"
#include "fake_machine.h"

namespace tephra::fake {
namespace {

bool counts_now(const Event& event) {
  if (!event.enabled || event.error) return false;
  const auto leader = event.leader.lock();
  return !leader || (leader->enabled && !leader->error);
}

// Whether a task is in a control group, or in one below it.
bool is_in(const Task* task, const std::string& group) {
  return task != nullptr && (task->cgroup == group || task->cgroup.starts_with(group + "/"));
}

// The samples' places follow a sequence that is even over any stretch of it, so shares come out exactly.
double nth_fraction(uint64_t number) {
  const double turns = static_cast<double>(number) * 0.6180339887498949;
  return turns - std::floor(turns);
}

bool allowed(const Event& event, const Place& place) {
  return place.kernel ? !event.attr.exclude_kernel : !event.attr.exclude_user;
}

// How much of what a task does the event sees.
double seen_share(const Event& event, const Task* task) {
  if (task == nullptr || !task->code) return event.attr.exclude_user ? 0 : 1;
  double seen = 0;
  double all = 0;
  for (const Place& place : task->code->places) {
    all += place.weight;
    if (allowed(event, place)) seen += place.weight;
  }
  return all > 0 ? seen / all : 0;
}

// Branches that lead to a place: around a loop, into the function, and back from another.
std::vector<Branch> made_up_branches(const Place& place, uint64_t filter) {
  std::vector<Branch> branches;
  uint64_t inner = place.ip;
  if (filter & PERF_SAMPLE_BRANCH_CALL_STACK) {
    for (const uint64_t caller : place.callers) {
      branches.push_back({caller - 5, inner & ~uint64_t{15}, PERF_BR_CALL});
      inner = caller;
    }
    return branches;
  }
  branches.push_back({place.ip + 12, place.ip - place.ip % 16, PERF_BR_COND, false, 7, place.kernel});
  branches.push_back({place.ip + 8, place.ip - place.ip % 16, PERF_BR_COND, true, 21, place.kernel});
  for (const uint64_t caller : place.callers) {
    branches.push_back({caller - 5, inner - inner % 16, PERF_BR_CALL, false, 3, false});
    branches.push_back({inner + 20, caller, PERF_BR_RET, false, 2, false});
    branches.push_back({caller - 2, caller - caller % 16, PERF_BR_IND_CALL, false, 5, false});
    inner = caller;
  }
  return branches;
}

}  // namespace

double default_rate(const EventKey& event) {
  static const std::map<EventKey, double> rates{
      {{PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES}, 3},
      {{PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS}, 4.5},
      {{PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES}, 0.05},
      {{PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES}, 0.005},
      {{PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS}, 0.9},
      {{PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES}, 0.009},
      {{PERF_TYPE_HARDWARE, PERF_COUNT_HW_BUS_CYCLES}, 0.1},
      {{PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES}, 2.5},
      {{PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK}, 1},
      {{PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK}, 1},
      {{PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS}, 1e-6},
      {{PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN}, 1e-6},
  };
  if (const auto found = rates.find(event); found != rates.end()) return found->second;
  if (event.type == PERF_TYPE_HARDWARE) return 0.6;
  if (event.type == PERF_TYPE_HW_CACHE) return event.config >> 16 == PERF_COUNT_HW_CACHE_RESULT_MISS ? 0.01 : 1;
  if (event.type == kCpuPmu) return 0.5;
  if (event.type == kUncorePmu) return 0.02;
  return 0;
}

void FakeMachine::run(uint64_t ns, const Behaviour& behaviour) {
  const std::lock_guard lock(mutex_);
  drop_closed();
  hear_readers();
  while (ns > 0) {
    const uint64_t step = std::min(ns, next_tick_ - now_);
    advance(step, behaviour);
    ns -= step;
    if (now_ >= next_tick_) end_tick();
  }
  wake_readers();
}

void FakeMachine::advance(uint64_t ns, const Behaviour& behaviour) {
  std::vector<const Task*> by_cpu(static_cast<size_t>(config_.cpus), nullptr);
  for (const Task& task : behaviour.running) {
    if (task.cpu >= 0 && task.cpu < config_.cpus) by_cpu[static_cast<size_t>(task.cpu)] = &task;
  }
  switch_tasks(by_cpu);
  add_enabled_time(by_cpu, ns);
  for (int cpu = 0; cpu < config_.cpus; ++cpu) run_cpu(cpu, by_cpu[static_cast<size_t>(cpu)], ns, behaviour);
  now_ += ns;
}

// An event of a task that is tied to a CPU is enabled also while the task runs on another.
void FakeMachine::add_enabled_time(const std::vector<const Task*>& by_cpu, uint64_t ns) {
  for (const auto& [id, event] : events_) {
    if (!counts_now(*event)) continue;
    if (!event->task_event()) {
      const Task* task = by_cpu[static_cast<size_t>(event->cpu)];
      if (event->cgroup.empty() || is_in(task, event->cgroup)) event->shares[-1].enabled_ns += ns;
      continue;
    }
    for (const Task* task : by_cpu) {
      if (task == nullptr) continue;
      if (const auto share = event->shares.find(task->tid); share != event->shares.end())
        share->second.enabled_ns += ns;
    }
  }
}

bool FakeMachine::on(const Event& event, int cpu, const Task* task) const {
  if (event.cpu != -1 && event.cpu != cpu) return false;
  if (event.task_event()) {
    if (task == nullptr) return false;
    const auto share = event.shares.find(task->tid);
    return share != event.shares.end() && !share->second.exited;
  }
  return event.cgroup.empty() || is_in(task, event.cgroup);
}

Contenders FakeMachine::contenders(int cpu, const Task* task) {
  Contenders found;
  for (const auto& [id, event] : events_) {
    if (event->leader.lock() || !counts_now(*event) || !on(*event, cpu, task)) continue;
    (event->task_event() ? found.of_task : found.of_cpu).push_back(event.get());
  }
  return found;
}

void FakeMachine::run_cpu(int cpu, const Task* task, uint64_t ns, const Behaviour& behaviour) {
  const Choice choice = choose(contenders(cpu, task), config_, turns_[cpu]);
  shared_[cpu] = shared_[cpu] || choice.shared;
  for (Event* failed : choice.pinned_failures) failed->error = true;
  std::vector<Due> due;
  for (Event* leader : choice.running) {
    for (Event* event : group_of(*leader)) {
      Share& share = event->shares[event->task_event() ? task->tid : -1];
      share.running_ns += ns;
      if (task != nullptr) count(*event, share, task, ns, behaviour, due);
    }
  }
  take_samples(due);
}

double FakeMachine::rate_of(const Event& event, const Behaviour& behaviour, const Task* task) const {
  if (config_.stuck && uses_counter(event.attr)) return 0;
  const EventKey key{event.attr.type, event.attr.config};
  const auto given = behaviour.rates.find(key);
  const double rate = given == behaviour.rates.end() ? default_rate(key) : given->second;
  return rate * config_.rate * seen_share(event, task);
}

void FakeMachine::count(Event& event, Share& share, const Task* task, uint64_t ns, const Behaviour& behaviour,
                        std::vector<Due>& due) {
  const double expected = rate_of(event, behaviour, task);
  const double rate = expected * behaviour.burst;
  if (share.throttled || rate <= 0) return;
  share.last_pid = task->pid, share.last_tid = task->tid, share.last_cpu = task->cpu;
  share.count += static_cast<double>(ns) * rate;
  if (!is_sampling(event.attr)) return;
  share.since_sample += static_cast<double>(ns) * rate;
  const uint64_t period = event.period(expected);
  const uint64_t limit = std::max<uint64_t>(1, config_.max_sample_rate * config_.tick_ns / 1'000'000'000);
  while (share.since_sample >= static_cast<double>(period)) {
    share.since_sample -= static_cast<double>(period);
    const uint64_t time = now_ + ns - std::min(ns, static_cast<uint64_t>(share.since_sample / rate));
    due.push_back({time, &event, &share, task, period});
    if (++share.samples_in_tick <= limit) continue;
    // The counter stops until the next tick.
    share.throttled = true;
    share.count -= share.since_sample;
    share.since_sample = 0;
    due.push_back({time, &event, &share, task, period, true});
    return;
  }
}

void FakeMachine::take_samples(std::vector<Due>& due) {
  std::stable_sort(due.begin(), due.end(), [](const Due& a, const Due& b) { return a.time < b.time; });
  for (const Due& each : due) {
    if (each.throttles)
      throttle(*each.event, *each.share, *each.task, each.time, true);
    else
      sample(*each.event, *each.share, *each.task, each.time, each.period, "");
  }
}

void FakeMachine::throttle(Event& event, Share& share, const Task& task, uint64_t time, bool begin) {
  std::string body;
  put(body, time);
  put(body, event.id);
  put(body, share.stream_id);
  const RecordOrigin from = origin(event, &share, task, time);
  emit(event, encode_record(event.attr, from, begin ? PERF_RECORD_THROTTLE : PERF_RECORD_UNTHROTTLE, 0, body), from);
}

void FakeMachine::end_tick() {
  next_tick_ += config_.tick_ns;
  for (auto& [cpu, shared] : shared_) {
    if (shared) ++turns_[cpu];
    shared = false;
  }
  for (const auto& [id, event] : events_) {
    for (auto& [tid, share] : event->shares) {
      share.samples_in_tick = 0;
      if (!share.throttled) continue;
      share.throttled = false;
      throttle(*event, share, {share.last_pid, share.last_tid, share.last_cpu}, now_, false);
    }
  }
}

const Place& FakeMachine::next_place(const Event& event, const Task& task) {
  static const Place kAnywhere;
  if (!task.code) return kAnywhere;
  double all = 0;
  for (const Place& place : task.code->places) all += allowed(event, place) ? place.weight : 0;
  double at = nth_fraction(samples_of_task_[task.tid]++) * all;
  for (const Place& place : task.code->places) {
    if (!allowed(event, place)) continue;
    if (at < place.weight) return place;
    at -= place.weight;
  }
  return task.code->places.back();
}

void FakeMachine::sample(Event& event, const Share& share, const Task& task, uint64_t time, uint64_t period,
                         std::string raw) {
  SampleFacts facts;
  facts.place = next_place(event, task);
  facts.number = samples_++;
  facts.period = period;
  facts.read = read_bytes(event);
  facts.raw = std::move(raw);
  facts.branches = task.code && !task.code->branches.empty()
                       ? task.code->branches
                       : made_up_branches(facts.place, event.attr.branch_sample_type);
  if (facts.branches.size() > static_cast<size_t>(config_.branches)) {
    facts.branches.resize(static_cast<size_t>(config_.branches));
  }
  const RecordOrigin from = origin(event, &share, task, time);
  emit(event, encode_sample(event.attr, from, facts), from);
}

void FakeMachine::hit(const EventKey& key, const Task& task, std::string raw) {
  const std::lock_guard lock(mutex_);
  drop_closed();
  for (const auto& [id, event] : events_) {
    if (EventKey{event->attr.type, event->attr.config} != key || !counts_now(*event)) continue;
    if (!on(*event, task.cpu, &task)) continue;
    Share& share = event->shares[event->task_event() ? task.tid : -1];
    share.count += 1;
    share.since_sample += 1;
    const double period = event->attr.freq ? 1 : static_cast<double>(event->attr.sample_period);
    if (!is_sampling(event->attr) || share.since_sample < period) continue;
    share.since_sample = 0;
    sample(*event, share, task, now_, static_cast<uint64_t>(period), raw);
  }
  wake_readers();
}

void FakeMachine::lose_samples(uint64_t samples) {
  const std::lock_guard lock(mutex_);
  drop_closed();
  std::string body;
  put(body, samples);
  for (const auto& [id, event] : events_) {
    if (!uses_counter(event->attr) || !is_sampling(event->attr)) continue;
    const Share& share = event->shares.begin()->second;
    const RecordOrigin from = origin(*event, &share, {share.last_pid, share.last_tid, share.last_cpu}, now_);
    emit(*event, encode_record(event->attr, from, PERF_RECORD_LOST_SAMPLES, 0, body), from);
  }
}

RecordOrigin FakeMachine::origin(const Event& event, const Share* share, const Task& task, uint64_t time) const {
  return {task.pid, task.tid, task.cpu, time, event.id, share ? share->stream_id : event.id};
}

void FakeMachine::emit(Event& event, std::string_view record, const RecordOrigin& from) {
  if (!event.ring) return;
  const auto lost_record = [&](uint64_t lost) {
    std::string body;
    put(body, event.id);
    put(body, lost);
    return encode_record(event.attr, from, PERF_RECORD_LOST, 0, body);
  };
  if (!event.ring->write(record, lost_record)) ++event.lost;
}

void FakeMachine::tell(const Task& task, const std::function<bool(const perf_event_attr&)>& wants,
                       const std::function<std::string(const Event&, const RecordOrigin&)>& make) {
  for (const auto& [id, event] : events_) {
    if (!wants(event->attr) || !event->enabled || event->error || !on(*event, task.cpu, &task)) continue;
    const auto share = event->shares.find(event->task_event() ? task.tid : -1);
    const RecordOrigin from = origin(*event, share == event->shares.end() ? nullptr : &share->second, task, now_);
    emit(*event, make(*event, from), from);
  }
}

void FakeMachine::set_comm(const Task& task, const std::string& comm) {
  const std::lock_guard lock(mutex_);
  tell(
      task, [](const auto& attr) { return attr.comm != 0; },
      [&](const Event& event, const RecordOrigin& from) {
        return encode_record(event.attr, from, PERF_RECORD_COMM, 0, comm_body(task.pid, task.tid, comm));
      });
}

void FakeMachine::tell_mapping(const Task& task, const Mapping& mapping) {
  const auto wants = [&](const perf_event_attr& attr) { return mapping.executable ? attr.mmap : attr.mmap_data; };
  tell(task, wants, [&](const Event& event, const RecordOrigin& from) {
    const bool with_id = event.attr.mmap2 && event.attr.build_id && !mapping.build_id.empty();
    uint16_t misc = PERF_RECORD_MISC_USER;
    if (!mapping.executable) misc |= PERF_RECORD_MISC_MMAP_DATA;
    if (with_id) misc |= PERF_RECORD_MISC_MMAP_BUILD_ID;
    return encode_record(event.attr, from, event.attr.mmap2 ? PERF_RECORD_MMAP2 : PERF_RECORD_MMAP, misc,
                         mmap_body(task.pid, task.tid, mapping, event.attr.mmap2, with_id));
  });
}

void FakeMachine::map_file(const Task& task, const Mapping& mapping) {
  const std::lock_guard lock(mutex_);
  tell_mapping(task, mapping);
}

void FakeMachine::exec(const Task& task, const std::string& comm, const std::vector<Mapping>& mappings) {
  const std::lock_guard lock(mutex_);
  drop_closed();
  for (const auto& [id, event] : events_) {
    if (!event->enable_on_exec || !event->shares.contains(task.tid)) continue;
    event->enable_on_exec = false;
    event->enabled = true;
  }
  tell(
      task, [](const auto& attr) { return attr.comm != 0; },
      [&](const Event& event, const RecordOrigin& from) {
        const uint16_t misc = event.attr.comm_exec ? PERF_RECORD_MISC_COMM_EXEC : 0;
        return encode_record(event.attr, from, PERF_RECORD_COMM, misc, comm_body(task.pid, task.tid, comm));
      });
  for (const Mapping& mapping : mappings) tell_mapping(task, mapping);
}

void FakeMachine::tell_task(const Task& task, uint32_t type, pid_t pid, pid_t tid) {
  std::string body;
  for (const pid_t each : {pid, task.pid, tid, task.tid}) put(body, each);
  put(body, now_);
  tell(
      task, [](const auto& attr) { return attr.task || attr.comm || attr.mmap; },
      [&](const Event& event, const RecordOrigin& from) { return encode_record(event.attr, from, type, 0, body); });
}

void FakeMachine::fork(const Task& parent, pid_t pid, pid_t tid) {
  const std::lock_guard lock(mutex_);
  drop_closed();
  known_tasks_.insert(tid);
  for (const auto& [id, event] : events_) {
    const auto carried = event->shares.find(parent.tid);
    if (!event->attr.inherit || carried == event->shares.end() || carried->second.exited) continue;
    if (event->attr.inherit_thread && pid != parent.pid) continue;
    event->shares[tid].stream_id = next_id_++;
  }
  tell_task(parent, PERF_RECORD_FORK, pid, tid);
}

void FakeMachine::exit(const Task& task) {
  const std::lock_guard lock(mutex_);
  drop_closed();
  known_tasks_.erase(task.tid);
  tell_task(task, PERF_RECORD_EXIT, task.pid, task.tid);
  for (const auto& [id, event] : events_) {
    const auto found = event->shares.find(task.tid);
    if (!event->task_event() || found == event->shares.end() || found->second.exited) continue;
    Share& share = found->second;
    if (event->attr.inherit_stat && share.stream_id != event->id) {
      Event alone;
      alone.attr = event->attr;
      alone.attr.read_format &= ~uint64_t{PERF_FORMAT_GROUP};
      alone.id = event->id;
      alone.shares[task.tid] = share;
      std::string body;
      put(body, task.pid);
      put(body, task.tid);
      const RecordOrigin from = origin(*event, &share, task, now_);
      emit(*event, encode_record(event->attr, from, PERF_RECORD_READ, 0, body + read_bytes(alone)), from);
    }
    share.exited = true;
  }
  hang_up_where_over();
  wake_readers();
}

void FakeMachine::hang_up_where_over() {
  for (const auto& [id, event] : events_) {
    if (event->hung_up || !event->task_event()) continue;
    const auto gone = [](const auto& entry) { return entry.second.exited; };
    if (!std::all_of(event->shares.begin(), event->shares.end(), gone)) continue;
    event->hung_up = true;
    ::shutdown(event->peer, SHUT_RDWR);
  }
}

void FakeMachine::switch_tasks(const std::vector<const Task*>& by_cpu) {
  const auto tell_switch = [&](const Task& task, bool out, const Task& other) {
    tell(
        task, [](const auto& attr) { return attr.context_switch != 0; },
        [&](const Event& event, const RecordOrigin& from) {
          std::string body;
          if (!event.task_event()) put(body, other.pid), put(body, other.tid);
          return encode_record(event.attr, from, event.task_event() ? PERF_RECORD_SWITCH : PERF_RECORD_SWITCH_CPU_WIDE,
                               out ? PERF_RECORD_MISC_SWITCH_OUT : 0, body);
        });
  };
  for (int cpu = 0; cpu < config_.cpus; ++cpu) {
    const Task* task = by_cpu[static_cast<size_t>(cpu)];
    Task idle;
    idle.cpu = cpu;
    const Task next = task == nullptr ? idle : *task;
    const auto found = last_on_.find(cpu);
    const Task previous = found == last_on_.end() ? idle : found->second;
    if (previous.tid == next.tid) continue;
    tell_switch(previous, true, next);
    tell_switch(next, false, previous);
    last_on_[cpu] = next;
  }
}

// A reader that has taken something since it was woken waits again. The kernel forgets a wake-up when it is polled for,
// which we do not see.
void FakeMachine::hear_readers() {
  for (const auto& [id, event] : events_) {
    if (!event->signalled || event->fd < 0) continue;
    const bool looked =
        !event->ring || event->ring->shape().overwrite || event->ring->tail() != event->tail_when_signalled;
    if (!looked) continue;
    char byte;
    ::recv(event->fd, &byte, 1, MSG_DONTWAIT);
    event->signalled = false;
  }
}

void FakeMachine::wake_readers() {
  std::set<const Ring*> woken;
  for (const auto& [id, event] : events_) {
    if (event->ring && event->ring->take_wakeup()) woken.insert(event->ring.get());
  }
  for (const auto& [id, event] : events_) {
    if (!woken.contains(event->ring.get()) || event->signalled || event->hung_up) continue;
    event->signalled = true;
    event->tail_when_signalled = event->ring->tail();
    ::send(event->peer, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
  }
}

}  // namespace tephra::fake
