#include "fake_machine.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "attr_check.h"

namespace tephra::fake {

FakeMachine::FakeMachine(const MachineConfig& config)
    : config_(config), folder_(std::make_unique<PmuFolder>(config)), next_tick_(now_ + config.tick_ns) {}

void FakeMachine::reset(const MachineConfig& config) {
  const std::lock_guard lock(mutex_);
  for (const auto& [id, event] : events_) ::close(event->peer);
  events_.clear();
  open_failures_.clear();
  control_failures_.clear();
  map_failures_.clear();
  catch_up_ = nullptr;
  known_tasks_.clear();
  turns_.clear();
  shared_.clear();
  last_on_.clear();
  samples_of_task_.clear();
  config_ = config;
  folder_ = std::make_unique<PmuFolder>(config);
  now_ = 1'000'000'000;
  next_tick_ = now_ + config.tick_ns;
  next_id_ = 1;
  samples_ = open_calls_ = locked_bytes_ = 0;
  for (auto& [memory, mapped] : mapped_) mapped.forgotten = true;
}

MachineConfig FakeMachine::config() const {
  const std::lock_guard lock(mutex_);
  return config_;
}

std::string FakeMachine::event_sources() const {
  const std::lock_guard lock(mutex_);
  return folder_->path();
}

void FakeMachine::fail_open(WhenOpen when, int error, uint64_t times) {
  const std::lock_guard lock(mutex_);
  open_failures_.push_back({std::move(when), error, times});
}

void FakeMachine::fail_control(unsigned long request, int error, uint64_t times) {
  const std::lock_guard lock(mutex_);
  control_failures_.push_back({request, error, times});
}

void FakeMachine::fail_map(std::function<bool(size_t bytes)> when, int error, uint64_t times) {
  const std::lock_guard lock(mutex_);
  map_failures_.push_back({std::move(when), error, times});
}

void FakeMachine::lose_next(uint64_t records) {
  const std::lock_guard lock(mutex_);
  for (const auto& [id, event] : events_) {
    if (event->maps_ring) event->ring->lose_next(records);
  }
}

void FakeMachine::add_task(pid_t tid) {
  const std::lock_guard lock(mutex_);
  known_tasks_.insert(tid);
}

uint64_t FakeMachine::now() const {
  const std::lock_guard lock(mutex_);
  return now_;
}

void FakeMachine::start_at(uint64_t ns) {
  const std::lock_guard lock(mutex_);
  now_ = ns;
  next_tick_ = ns + config_.tick_ns;
}

uint64_t FakeMachine::open_calls() const {
  const std::lock_guard lock(mutex_);
  return open_calls_;
}

void FakeMachine::before_read(std::function<void()> catch_up) {
  const std::lock_guard lock(mutex_);
  catch_up_ = std::move(catch_up);
}

std::vector<FakeMachine::EventFacts> FakeMachine::events() {
  const std::lock_guard lock(mutex_);
  drop_closed();
  std::vector<EventFacts> facts;
  for (const auto& [id, event] : events_) {
    EventFacts each{event->attr, event->tid, event->cpu, -1, event->cgroup, id, event->enabled, event->enable_on_exec};
    if (const auto leader = event->leader.lock()) each.group_fd = leader->fd;
    each.filter = event->filter;
    each.ring_bytes = event->ring ? event->ring->shape().bytes : 0;
    each.owns_ring = event->maps_ring;
    facts.push_back(std::move(each));
  }
  return facts;
}

std::set<pid_t> FakeMachine::attached_tasks() {
  const std::lock_guard lock(mutex_);
  drop_closed();
  std::set<pid_t> tasks;
  for (const auto& [id, event] : events_) {
    const auto& attr = event->attr;
    const bool dummy = attr.type == PERF_TYPE_SOFTWARE && attr.config == PERF_COUNT_SW_DUMMY;
    if (dummy && !attr.task && !attr.mmap && !attr.comm) continue;
    for (const auto& [tid, share] : event->shares) {
      if (tid >= 0 && !share.exited) tasks.insert(tid);
    }
  }
  return tasks;
}

bool FakeMachine::counts_cpus() {
  const std::lock_guard lock(mutex_);
  drop_closed();
  for (const auto& [id, event] : events_) {
    if (!event->task_event()) return true;
  }
  return false;
}

FakeMachine::EventPtr FakeMachine::find(int fd) {
  drop_closed();
  for (const auto& [id, event] : events_) {
    if (event->fd == fd && fd >= 0) return event;
  }
  return nullptr;
}

// A descriptor is closed without our being told. A mapping keeps its event, as it does in the kernel.
void FakeMachine::drop_closed() {
  std::erase_if(events_, [](const auto& entry) {
    Event& event = *entry.second;
    if (event.fd >= 0) {
      struct stat info {};
      if (::fstat(event.fd, &info) == 0 && S_ISSOCK(info.st_mode) && info.st_ino == event.inode) return false;
      event.fd = -1;
    }
    if (event.maps_ring) return false;
    ::close(event.peer);
    return true;
  });
}

std::string FakeMachine::read_bytes(const Event& event) const {
  const uint64_t format = event.attr.read_format;
  const auto sum = [](const Event& of, auto&& member) {
    uint64_t total = 0;
    for (const auto& [tid, share] : of.shares) total += static_cast<uint64_t>(share.*member);
    return total;
  };
  const auto leader = event.leader.lock();
  const bool group = format & PERF_FORMAT_GROUP;
  const Event& first = group && leader ? *leader : event;
  std::vector<const Event*> counted{&first};
  if (group) {
    for (const auto& weak : first.members) {
      if (const auto member = weak.lock()) counted.push_back(member.get());
    }
  }
  std::string bytes;
  if (group) put(bytes, uint64_t{counted.size()});
  const auto put_times = [&] {
    if (format & PERF_FORMAT_TOTAL_TIME_ENABLED) put(bytes, sum(first, &Share::enabled_ns));
    if (format & PERF_FORMAT_TOTAL_TIME_RUNNING) put(bytes, sum(first, &Share::running_ns));
  };
  if (group) put_times();
  for (const Event* each : counted) {
    put(bytes, sum(*each, &Share::count));
    if (!group) put_times();
    if (format & PERF_FORMAT_ID) put(bytes, each->id);
    if (format & PERF_FORMAT_LOST) put(bytes, each->lost);
  }
  return bytes;
}

ssize_t FakeMachine::read(int fd, void* to, size_t bytes) {
  std::function<void()> catch_up;
  {
    const std::lock_guard lock(mutex_);
    catch_up = catch_up_;
  }
  if (catch_up) catch_up();
  const std::lock_guard lock(mutex_);
  const EventPtr event = find(fd);
  if (!event) return errno = EBADF, -1;
  if (event->error) return 0;
  const std::string values = read_bytes(*event);
  if (bytes < values.size()) return errno = ENOSPC, -1;
  std::memcpy(to, values.data(), values.size());
  return static_cast<ssize_t>(values.size());
}

FakeMachine& machine() {
  static FakeMachine the_machine;
  return the_machine;
}

WhenOpen always() {
  return [](const OpenCall&) { return true; };
}
WhenOpen of_type(uint32_t type) {
  return [type](const OpenCall& call) { return call.attr.type == type; };
}
WhenOpen of_event(uint32_t type, uint64_t config) {
  return [=](const OpenCall& call) { return call.attr.type == type && call.attr.config == config; };
}
WhenOpen from_call(uint64_t number) {
  return [number](const OpenCall& call) { return call.number >= number; };
}

}  // namespace tephra::fake
