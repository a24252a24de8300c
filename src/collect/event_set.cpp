#include "collect/event_set.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "collect/event_attr.h"
#include "kernel/privileges.h"
#include "kernel/procfs.h"

namespace tephra::collect {
namespace {

constexpr size_t kSmallestRing = 32 << 10;

base::Error no_rights(const std::string& what, const kernel::Privileges& held, int enough) {
  return base::failed("cannot record " + what, "",
                      fmt::format("no permission (perf_event_paranoid is {})", held.paranoid),
                      fmt::format("Run as root or with CAP_PERFMON, or have root run 'sysctl "
                                  "kernel.perf_event_paranoid={}'.",
                                  enough));
}

base::Error no_kernel_rights(const std::string& event, const kernel::Privileges& held) {
  return base::failed(
      "cannot sample kernel code for " + event, "", fmt::format("perf_event_paranoid is {}", held.paranoid),
      "Run as root or with CAP_PERFMON, have root run 'sysctl kernel.perf_event_paranoid=1', or use the "
      "modifier :u.");
}

base::Error foreign_task(pid_t tid) {
  return base::failed(fmt::format("cannot observe process {}", tid), "", "it belongs to another user",
                      "Run as that user, as root, or with CAP_PERFMON.");
}

}  // namespace

EventSet::EventSet(std::vector<PlannedEvent> events, std::vector<int> cpus, const kernel::AttrSupport& support,
                   Note note)
    : events_(std::move(events)),
      cpus_(std::move(cpus)),
      support_(support),
      note_(std::move(note)),
      opened_(events_.size()) {}

base::Status EventSet::open_rings(bool whole_cpus, size_t ring_bytes, bool exact) {
  whole_cpus_ = whole_cpus;
  std::vector<int> usable;
  for (const int cpu : cpus_) {
    base::FileDescriptor fd;
    if (whole_cpus) {
      auto opened = open_one(events_[0], -1, cpu);
      if (!opened) return opened.error();
      fd = std::move(*opened);
    } else {
      fd = kernel::open_event(dummy_attr(false, support_), kernel::EventScope::task(0, cpu));
      if (!fd && errno != ENODEV) return explain({kernel::software_event("dummy"), {}}, 0, errno);
    }
    if (!fd) continue;  // the CPU went offline
    usable.push_back(cpu);
    TEPHRA_CHECK_OK(map_ring(fd.get(), ring_bytes, exact));
    ring_fds_.push_back(fd.get());
    if (whole_cpus) {
      const uint64_t id = kernel::event_id(fd.get());
      opened_[0].push_back({std::move(fd), id});
    } else {
      ring_owners_.push_back(std::move(fd));
    }
  }
  if (usable.empty()) return base::failed("cannot record", "", "none of the CPUs is online");
  cpus_ = std::move(usable);
  return {};
}

base::Status EventSet::map_ring(int fd, size_t ring_bytes, bool exact) {
  const size_t wanted = rings_.empty() ? ring_bytes : rings_.back().capacity();
  kernel::RingBuffer ring;
  for (size_t bytes = wanted;; bytes /= 2) {
    if (ring.map(fd, bytes)) break;
    const bool too_much = errno == EPERM || errno == ENOMEM || errno == EINVAL;
    if (!too_much || exact || bytes <= kSmallestRing) {
      return base::system_error(fmt::format("cannot lock a ring of {} KiB a CPU in memory", bytes >> 10), "", errno,
                                "Use a smaller ring with -m, or have root raise the limit with 'sysctl "
                                "kernel.perf_event_mlock_kb=4096'.");
    }
  }
  if (ring.capacity() < ring_bytes && rings_.empty()) {
    note_(fmt::format("rings are {} KiB a CPU: more may not be locked in memory", ring.capacity() >> 10));
  }
  rings_.push_back(std::move(ring));
  return {};
}

bool EventSet::without_kernel(PlannedEvent& event, int error_number) {
  if (error_number != EACCES && error_number != EPERM) return false;
  if (event.attr.exclude_kernel || event.spec.modes_given || kernel::privileges().may_profile_kernel()) return false;
  event.attr.exclude_kernel = 1;
  event.attr.exclude_hv = 1;
  event.spec.name += ":u";
  if (!said_without_kernel_) {
    note_(
        fmt::format("only user code is sampled: perf_event_paranoid is {}. For kernel code run as root or with "
                    "CAP_PERFMON, or have root run 'sysctl kernel.perf_event_paranoid=1'.",
                    kernel::privileges().paranoid));
  }
  said_without_kernel_ = true;
  return true;
}

// An invalid descriptor: the task or the CPU is gone.
base::Result<base::FileDescriptor> EventSet::open_one(PlannedEvent& event, pid_t tid, int cpu) {
  for (;;) {
    auto fd = kernel::open_event(event.attr, kernel::EventScope::task(tid, cpu));
    if (fd) return fd;
    const int error_number = errno;
    if (error_number == ESRCH || error_number == ENODEV) {
      if (error_number == ESRCH || !event.spec.hardware()) return base::FileDescriptor();
    }
    if (!without_kernel(event, error_number)) return explain(event, tid, error_number);
  }
}

base::Result<bool> EventSet::attach(pid_t tid) {
  for (size_t index = 0; index < events_.size(); ++index) {
    // With whole CPUs the first event came with the rings.
    if (whole_cpus_ && index == 0) continue;
    for (size_t place = 0; place < cpus_.size(); ++place) {
      TEPHRA_TRY(base::FileDescriptor fd, open_one(events_[index], tid, cpus_[place]));
      if (!fd) {
        if (tid > 0) return false;
        continue;
      }
      if (!kernel::redirect_output(fd.get(), ring_fds_[place])) {
        return base::system_error("cannot send events to the ring of CPU", std::to_string(cpus_[place]), errno);
      }
      const uint64_t id = kernel::event_id(fd.get());
      if (index == 0) last_task_fd_ = fd.get();
      opened_[index].push_back({std::move(fd), id});
    }
  }
  return true;
}

base::Error EventSet::explain(const PlannedEvent& event, pid_t tid, int error_number) const {
  const std::string& name = event.spec.name;
  const auto held = kernel::privileges();
  switch (error_number) {
    case EACCES:
    case EPERM:
      if (tid == -1) return no_rights("everything on the CPUs", held, 0);
      if (event.spec.tracepoint() && !held.may_read_raw_tracepoints()) return no_rights(name, held, -1);
      if (!event.attr.exclude_kernel && !held.may_profile_kernel()) return no_kernel_rights(name, held);
      if (tid > 0 && held.paranoid < 3) return foreign_task(tid);
      return no_rights(name, held, 1);
    case ENOENT:
    case ENODEV:
    case EOPNOTSUPP:
      if (event.spec.hardware()) {
        return base::failed("cannot count", name,
                            "this machine has no such hardware counter (a virtual machine often "
                            "has none)",
                            "Use -e cpu-clock.");
      }
      return base::system_error("cannot open event", name, error_number, "This kernel does not have it.");
    case EMFILE:
    case ENFILE:
      return base::system_error(
          "cannot open event", name, error_number,
          fmt::format(
              "One descriptor is needed per event, thread and CPU and {} are allowed: raise it with 'ulimit -n', "
              "or record with -a.",
              kernel::open_file_limit()));
    case EINVAL:
      if (event.attr.freq && event.attr.sample_freq > kernel::max_sample_rate()) {
        return base::failed(fmt::format("cannot sample {} times a second", uint64_t{event.attr.sample_freq}), "",
                            fmt::format("the limit is {}", kernel::max_sample_rate()),
                            fmt::format("Sample less often, or have root run 'sysctl "
                                        "kernel.perf_event_max_sample_rate={}'.",
                                        uint64_t{event.attr.sample_freq}));
      }
      if (event.attr.sample_type & PERF_SAMPLE_STACK_USER) {
        return base::system_error("cannot open event", name, error_number, "Try --call-graph fp.");
      }
      return base::system_error("cannot open event", name, error_number, "The kernel refuses these settings.");
    default:
      return base::system_error("cannot open event", name, error_number);
  }
}

void EventSet::enable() {
  for (const auto& event : opened_) {
    for (const Opened& each : event) kernel::enable_event(each.fd.get());
  }
}

void EventSet::disable() {
  for (const auto& event : opened_) {
    for (const Opened& each : event) kernel::disable_event(each.fd.get());
  }
}

std::vector<FileEvent> EventSet::file_events() const {
  std::vector<FileEvent> described;
  for (size_t index = 0; index < events_.size(); ++index) {
    FileEvent event{events_[index].attr, events_[index].spec.name, {}};
    for (const Opened& each : opened_[index]) event.ids.push_back(each.id);
    described.push_back(std::move(event));
  }
  return described;
}

uint64_t EventSet::side_band_id() const { return opened_[0].empty() ? 0 : opened_[0][0].id; }

std::set<pid_t> EventSet::inherited_threads() const {
  constexpr size_t kTidOffset = 16;  // header, pid, ppid, tid, ptid
  std::set<pid_t> threads;
  for (const kernel::RingBuffer& ring : rings_) {
    const kernel::Pending pending = ring.pending();
    for (size_t offset = 0; offset + 8 <= pending.size();) {
      const uint64_t header = pending.word(offset);
      const size_t size = header >> 48;
      if (size < 8 || size > pending.size() - offset) break;
      if (static_cast<uint32_t>(header) == PERF_RECORD_FORK && size > kTidOffset + 8) {
        threads.insert(static_cast<pid_t>(pending.word(offset + kTidOffset)));
      }
      offset += size;
    }
  }
  return threads;
}

uint64_t EventSet::lost() const {
  uint64_t total = 0;
  for (size_t index = 0; index < events_.size(); ++index) {
    const uint64_t format = events_[index].attr.read_format;
    if ((format & PERF_FORMAT_LOST) == 0) continue;
    for (const Opened& each : opened_[index]) total += kernel::read_count(each.fd.get(), format).lost;
  }
  return total;
}

}  // namespace tephra::collect
