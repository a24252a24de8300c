#include "kernel/perf_event.h"

#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <functional>

namespace tephra::kernel {

perf_event_attr empty_attr() {
  perf_event_attr attr{};
  attr.size = kAttrSize;
  return attr;
}

base::FileDescriptor open_event(const perf_event_attr& attr, pid_t pid, int cpu) {
  return base::FileDescriptor(
      static_cast<int>(::syscall(SYS_perf_event_open, &attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC)));
}

uint64_t event_id(int fd) {
  uint64_t id = 0;
  return ::ioctl(fd, PERF_EVENT_IOC_ID, &id) == 0 ? id : 0;
}

bool enable_event(int fd) { return ::ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) == 0; }
bool disable_event(int fd) { return ::ioctl(fd, PERF_EVENT_IOC_DISABLE, 0) == 0; }
bool redirect_output(int fd, int ring_fd) { return ::ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring_fd) == 0; }

EventCount read_count(int fd, uint64_t read_format) {
  std::array<uint64_t, 8> words{};
  if (::read(fd, words.data(), sizeof words) <= 0) return {};
  EventCount count{words[0], 0};
  size_t next = 1;
  if (read_format & PERF_FORMAT_TOTAL_TIME_ENABLED) ++next;
  if (read_format & PERF_FORMAT_TOTAL_TIME_RUNNING) ++next;
  if (read_format & PERF_FORMAT_ID) ++next;
  if (read_format & PERF_FORMAT_LOST) count.lost = words[next];
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
    return static_cast<bool>(open_event(attr, 0, -1));
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
  const auto fd = open_event(attr, 0, -1);
  if (!fd) return false;
  volatile unsigned work = 0;
  for (unsigned i = 0; i < 100'000; ++i) work = work + i;
  return read_count(fd.get(), 0).value > 0;
}

}  // namespace tephra::kernel
