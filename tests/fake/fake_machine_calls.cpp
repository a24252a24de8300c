// The machine's answers to system calls.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <string>

#include "attr_check.h"
#include "fake_machine.h"

namespace tephra::fake {
namespace {

constexpr unsigned long kAllFlags =
    PERF_FLAG_FD_NO_GROUP | PERF_FLAG_FD_OUTPUT | PERF_FLAG_PID_CGROUP | PERF_FLAG_FD_CLOEXEC;

int fail(int error) {
  errno = error;
  return -1;
}

bool same_clock(const perf_event_attr& a, const perf_event_attr& b) {
  return a.use_clockid == b.use_clockid && (!a.use_clockid || a.clockid == b.clockid);
}

// The folder that a descriptor of a control group is open on.
std::string folder_of(int fd) {
  struct stat info {};
  if (::fstat(fd, &info) != 0 || !S_ISDIR(info.st_mode)) return "";
  char path[4096];
  const ssize_t length = ::readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), path, sizeof path);
  return length > 0 ? std::string(path, static_cast<size_t>(length)) : "";
}

// Takes one use from a list of failures: the error, or 0.
template <class Failures, class Matches>
int use_failure(Failures& failures, Matches&& matches) {
  for (auto& failure : failures) {
    if (failure.times == 0 || !matches(failure)) continue;
    if (failure.times != UINT64_MAX) --failure.times;
    return failure.error;
  }
  return 0;
}

}  // namespace

int FakeMachine::injected_open_failure(const OpenCall& call) {
  return use_failure(open_failures_, [&](const OpenFailure& failure) { return failure.when(call); });
}

int FakeMachine::open(const perf_event_attr& attr, pid_t pid, int cpu, int group_fd, unsigned long flags) {
  const std::lock_guard lock(mutex_);
  drop_closed();
  const OpenCall call{attr, pid, cpu, group_fd, flags, open_calls_++};
  if (const int error = injected_open_failure(call)) return fail(error);
  if ((flags & ~kAllFlags) != 0) return fail(EINVAL);
  perf_event_attr known = attr;
  if (const int error = check_attr(known, config_)) {
    // The kernel tells its own size where the caller's does not do.
    if (error == E2BIG) const_cast<perf_event_attr&>(attr).size = known.size;
    return fail(error);
  }
  return open_checked(call, known);
}

bool FakeMachine::task_exists(pid_t tid) const {
  return known_tasks_.contains(tid) || ::access(("/proc/" + std::to_string(tid)).c_str(), F_OK) == 0;
}

int FakeMachine::check_target(const OpenCall& call, Event& event) const {
  event.cpu = call.cpu;
  if (call.flags & PERF_FLAG_PID_CGROUP) {
    if (call.pid == -1 || call.cpu == -1) return EINVAL;
    event.cgroup = folder_of(call.pid);
    if (event.cgroup.empty()) return EBADF;
  } else if (call.pid >= 0) {
    event.tid = call.pid == 0 ? static_cast<pid_t>(::syscall(SYS_gettid)) : call.pid;
    if (!task_exists(event.tid)) return ESRCH;
  } else if (call.pid != -1) {
    return ESRCH;
  }
  if (call.cpu < -1 || call.cpu >= config_.cpus || (call.cpu == -1 && !event.task_event())) return EINVAL;
  if (const int error = check_pmu(event.attr, config_, event.task_event(), call.cpu)) return error;
  if (!event.task_event() && !config_.privileged && config_.paranoid > 0) return EACCES;
  return check_breakpoints(event);
}

int FakeMachine::check_breakpoints(const Event& event) const {
  if (event.attr.type != PERF_TYPE_BREAKPOINT) return 0;
  int taken = 0;
  for (const auto& [id, other] : events_) {
    taken += other->attr.type == PERF_TYPE_BREAKPOINT && (other->cpu == event.cpu || other->cpu < 0 || event.cpu < 0);
  }
  return taken >= config_.breakpoints ? ENOSPC : 0;
}

int FakeMachine::check_group(const Event& event, Event& leader) const {
  if (event.task_event() && leader.attr.inherit != event.attr.inherit) return EINVAL;
  if (leader.leader.lock()) return EINVAL;  // itself only a member
  if (leader.cpu != event.cpu || leader.tid != event.tid || leader.cgroup != event.cgroup) return EINVAL;
  if (!same_clock(leader.attr, event.attr)) return EINVAL;
  if (event.attr.exclusive || event.attr.pinned) return EINVAL;
  int counters = uses_counter(event.attr);
  bool core = uses_counter(event.attr);
  bool uncore = is_uncore(event.attr);
  const auto add = [&](const Event& each) {
    counters += uses_counter(each.attr);
    core |= uses_counter(each.attr);
    uncore |= is_uncore(each.attr);
  };
  add(leader);
  for (const auto& weak : leader.members) {
    if (const auto member = weak.lock()) add(*member);
  }
  // Whether somebody else holds counters is not looked at: such a group opens and never runs.
  return (core && uncore) || counters > config_.counters ? EINVAL : 0;
}

int FakeMachine::open_checked(const OpenCall& call, perf_event_attr attr) {
  EventPtr group;
  if (call.group_fd != -1 && !(group = find(call.group_fd))) return fail(EBADF);
  const bool output = call.flags & PERF_FLAG_FD_OUTPUT;
  EventPtr leader = call.flags & PERF_FLAG_FD_NO_GROUP ? nullptr : group;
  auto event = std::make_shared<Event>();
  event->attr = attr;
  if (const int error = check_target(call, *event)) return fail(error);
  if (leader) {
    if (const int error = check_group(*event, *leader)) return fail(error);
  }
  event->enabled = !attr.disabled;
  event->enable_on_exec = attr.enable_on_exec;
  const int fd = install(event, call.flags & PERF_FLAG_FD_CLOEXEC);
  if (fd < 0) return -1;
  if (group && output && set_output(*event, call.group_fd) != 0) return ::close(fd), fail(EINVAL);
  if (leader) {
    event->leader = leader;
    leader->members.push_back(event);
  }
  return fd;
}

int FakeMachine::install(const EventPtr& event, bool close_on_exec) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return -1;
  if (!close_on_exec) ::fcntl(ends[0], F_SETFD, 0);
  struct stat info {};
  ::fstat(ends[0], &info);
  event->fd = ends[0];
  event->peer = ends[1];
  event->inode = info.st_ino;
  event->id = next_id_++;
  event->shares[event->tid].stream_id = event->id;
  events_.emplace(event->id, event);
  return event->fd;
}

int FakeMachine::switch_event(Event& event, unsigned long request, bool group) {
  std::vector<Event*> events{&event};
  if (group) {
    const auto leader = event.leader.lock();
    Event& first = leader ? *leader : event;
    events = {&first};
    for (const auto& weak : first.members) {
      if (const auto member = weak.lock()) events.push_back(member.get());
    }
  }
  for (Event* each : events) {
    if (request == PERF_EVENT_IOC_RESET) {
      for (auto& [tid, share] : each->shares) share.count = 0;
    } else {
      each->enabled = request == PERF_EVENT_IOC_ENABLE;
      if (each->enabled) each->error = false;
    }
  }
  return 0;
}

int FakeMachine::set_output(Event& event, int ring_fd) {
  if (ring_fd == -1) {
    if (event.maps_ring) return fail(EINVAL);
    event.ring.reset();
    return 0;
  }
  const EventPtr target = find(ring_fd);
  if (!target) return fail(EBADF);
  if (target.get() == &event || target->cpu != event.cpu) return fail(EINVAL);
  if (event.cpu == -1 && target->tid != event.tid) return fail(EINVAL);
  if (!same_clock(target->attr, event.attr)) return fail(EINVAL);
  if (target->attr.write_backward != event.attr.write_backward) return fail(EINVAL);
  if (event.maps_ring || !target->ring) return fail(EINVAL);
  event.ring = target->ring;
  return 0;
}

int FakeMachine::set_period(Event& event, uint64_t period) {
  if (!is_sampling(event.attr) || period == 0) return fail(EINVAL);
  if (event.attr.freq ? period > config_.max_sample_rate : period >> 63 != 0) return fail(EINVAL);
  event.attr.sample_period = period;
  return 0;
}

int FakeMachine::control(int fd, unsigned long request, unsigned long argument) {
  const std::lock_guard lock(mutex_);
  const EventPtr event = find(fd);
  if (!event) return fail(EBADF);
  const auto matches = [&](const ControlFailure& failure) { return failure.request == request; };
  if (const int error = use_failure(control_failures_, matches)) return fail(error);
  switch (request) {
    case PERF_EVENT_IOC_ENABLE:
    case PERF_EVENT_IOC_DISABLE:
    case PERF_EVENT_IOC_RESET:
      return switch_event(*event, request, argument & PERF_IOC_FLAG_GROUP);
    case PERF_EVENT_IOC_REFRESH:
      return event->attr.inherit || !is_sampling(event->attr) ? fail(EINVAL) : (event->enabled = true, 0);
    case PERF_EVENT_IOC_PERIOD:
      return set_period(*event, *reinterpret_cast<const uint64_t*>(argument));
    case PERF_EVENT_IOC_ID:
      *reinterpret_cast<uint64_t*>(argument) = event->id;
      return 0;
    case PERF_EVENT_IOC_SET_OUTPUT:
      return set_output(*event, static_cast<int>(argument));
    case PERF_EVENT_IOC_SET_FILTER:
      if (event->attr.type != PERF_TYPE_TRACEPOINT) return fail(EINVAL);
      event->filter = reinterpret_cast<const char*>(argument);
      return 0;
    case PERF_EVENT_IOC_PAUSE_OUTPUT:
      if (!event->ring) return fail(EINVAL);
      event->ring->pause(argument != 0);
      return 0;
    default:
      return fail(ENOTTY);
  }
}

void* FakeMachine::map(int fd, size_t bytes, bool writable) {
  const std::lock_guard lock(mutex_);
  const auto refuse = [](int error) -> void* { return errno = error, nullptr; };
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const EventPtr event = find(fd);
  if (!event) return refuse(EBADF);
  if (event->cpu == -1 && event->attr.inherit) return refuse(EINVAL);
  if (bytes < page || !std::has_single_bit(bytes)) return refuse(EINVAL);
  if (const int error = use_failure(map_failures_, [&](const MapFailure& f) { return f.when(bytes); })) {
    return refuse(error);
  }
  if (event->ring && event->ring->shape().bytes != bytes) return refuse(EINVAL);
  if (!event->ring) {
    if (locked_bytes_ + page + bytes > config_.mlock_bytes) return refuse(EPERM);
    const auto& attr = event->attr;
    event->ring = Ring::create({bytes, !writable, attr.write_backward != 0, attr.watermark ? attr.wakeup_watermark : 0u,
                                attr.watermark ? 0u : attr.wakeup_events});
    if (!event->ring) return nullptr;
    event->maps_ring = true;
    locked_bytes_ += page + bytes;
  }
  void* memory = event->ring->map(writable);
  if (memory != nullptr) mapped_[memory] = {event->ring};
  return memory;
}

void FakeMachine::unmap(void* memory, size_t) {
  const std::lock_guard lock(mutex_);
  const auto found = mapped_.find(memory);
  if (found == mapped_.end()) return;
  const std::shared_ptr<Ring> ring = found->second.ring;
  const bool forgotten = found->second.forgotten;
  mapped_.erase(found);
  ring->unmap(memory);
  if (ring->mappings() > 0 || forgotten) return;
  locked_bytes_ -= static_cast<size_t>(::sysconf(_SC_PAGESIZE)) + ring->shape().bytes;
  // Who wrote to it writes nowhere now.
  for (const auto& [id, event] : events_) {
    if (event->ring != ring) continue;
    event->ring.reset();
    event->maps_ring = false;
  }
  drop_closed();
}

}  // namespace tephra::fake
