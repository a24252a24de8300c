#include "kernel/perf_event.h"

#include <time.h>

#include <algorithm>
#include <array>
#include <functional>

#include "kernel/perf_calls.h"

namespace tephra::kernel {

perf_event_attr empty_attr() {
  perf_event_attr attr{};
  attr.size = kAttrSize;
  return attr;
}

base::FileDescriptor open_event(const perf_event_attr& attr, const EventScope& scope, int leader_fd) {
  const bool cgroup = scope.cgroup_fd >= 0;
  const unsigned long flags = PERF_FLAG_FD_CLOEXEC | (cgroup ? PERF_FLAG_PID_CGROUP : 0);
  return base::FileDescriptor(
      calls::open_event(attr, cgroup ? scope.cgroup_fd : scope.tid, scope.cpu, leader_fd, flags));
}

uint64_t event_id(int fd) {
  uint64_t id = 0;
  return calls::control_event(fd, PERF_EVENT_IOC_ID, reinterpret_cast<unsigned long>(&id)) == 0 ? id : 0;
}

bool enable_event(int fd) { return calls::control_event(fd, PERF_EVENT_IOC_ENABLE, 0) == 0; }
bool disable_event(int fd) { return calls::control_event(fd, PERF_EVENT_IOC_DISABLE, 0) == 0; }

bool redirect_output(int fd, int ring_fd) {
  return calls::control_event(fd, PERF_EVENT_IOC_SET_OUTPUT, static_cast<unsigned long>(ring_fd)) == 0;
}

bool set_filter(int fd, const std::string& expression) {
  return calls::control_event(fd, PERF_EVENT_IOC_SET_FILTER, reinterpret_cast<unsigned long>(expression.c_str())) == 0;
}

bool pause_output(int fd, bool pause) {
  return calls::control_event(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, pause ? 1 : 0) == 0;
}

EventCount read_count(int fd, uint64_t read_format) {
  // In a group's answer the members follow, the leader first.
  std::array<uint64_t, 4 + 64 * 3> words{};
  if (calls::read_event(fd, words.data(), sizeof words) <= 0) return {.failed = true};
  const bool group = read_format & PERF_FORMAT_GROUP;
  const size_t members = group ? std::min<uint64_t>(words[0], 64) : 1;
  EventCount count;
  size_t next = group ? 1 : 0;
  const auto read_times = [&] {
    if (read_format & PERF_FORMAT_TOTAL_TIME_ENABLED) count.enabled_ns = words[next++];
    if (read_format & PERF_FORMAT_TOTAL_TIME_RUNNING) count.running_ns = words[next++];
  };
  if (group) read_times();
  for (size_t member = 0; member < members; ++member) {
    const uint64_t value = words[next++];
    if (member == 0) count.value = value;
    if (!group) read_times();
    if (read_format & PERF_FORMAT_ID) ++next;
    if (read_format & PERF_FORMAT_LOST) count.lost += words[next++];
  }
  return count;
}

AttrSupport probe_attr_support() {
  const auto takes = [](const std::function<void(perf_event_attr&)>& set) {
    perf_event_attr attr = empty_attr();
    attr.type = PERF_TYPE_SOFTWARE;
    attr.config = PERF_COUNT_SW_DUMMY;
    attr.disabled = 1;
    attr.exclude_kernel = 1;
    set(attr);
    return static_cast<bool>(open_event(attr, EventScope::task(0, -1)));
  };
  AttrSupport support;
  support.clockid = takes([](auto& attr) { attr.use_clockid = 1, attr.clockid = CLOCK_MONOTONIC; });
  support.comm_exec = takes([](auto& attr) { attr.comm = attr.comm_exec = 1; });
  support.ksymbol = takes([](auto& attr) { attr.ksymbol = 1; });
  support.bpf_event = takes([](auto& attr) { attr.bpf_event = 1; });
  support.build_id = takes([](auto& attr) { attr.mmap = attr.mmap2 = attr.build_id = 1; });
  support.read_lost = takes([](auto& attr) { attr.read_format = PERF_FORMAT_ID | PERF_FORMAT_LOST; });
  return support;
}

bool counts_here(uint32_t type, uint64_t config) {
  perf_event_attr attr = empty_attr();
  attr.type = type;
  attr.config = config;
  attr.exclude_kernel = 1;
  attr.exclude_hv = 1;
  const auto fd = open_event(attr, EventScope::task(0, -1));
  if (!fd) return false;
  volatile unsigned work = 0;
  for (unsigned i = 0; i < 100'000; ++i) work = work + i;
  return read_count(fd.get(), 0).value > 0;
}

}  // namespace tephra::kernel
