#include "kernel/countable.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "kernel/perf_calls.h"
#include "kernel/perf_event.h"
#include "kernel/pmus.h"

namespace tephra::kernel {
namespace {

constexpr uint64_t kProbePeriod = 1'000'000'000;

perf_event_attr attr_of(const EventSpec& event) {
  perf_event_attr attr = empty_attr();
  attr.type = event.type;
  attr.config = event.config;
  attr.config1 = event.config1;
  attr.config2 = event.config2;
  attr.bp_type = event.breakpoint_type;
  attr.exclude_user = event.exclude_user;
  attr.exclude_kernel = event.exclude_kernel;
  attr.exclude_hv = event.exclude_hypervisor;
  attr.exclude_idle = event.exclude_idle;
  attr.exclude_guest = event.exclude_guest;
  attr.exclude_host = event.exclude_host;
  attr.precise_ip = event.precise;
  return attr;
}

EventScope scope_of(const EventSpec& event) {
  return event.cpus.empty() ? EventScope::task(0, -1) : EventScope::everything(event.cpus.front());
}

// Without the right to see the kernel, the kernel's part is left out, as a recording does.
base::FileDescriptor open_as_allowed(const EventSpec& event, perf_event_attr attr) {
  auto fd = open_event(attr, scope_of(event));
  if (fd || errno != EACCES || event.modes_given) return fd;
  attr.exclude_kernel = 1;
  attr.exclude_hv = 1;
  fd = open_event(attr, scope_of(event));
  if (!fd && errno == EINVAL) errno = EACCES;  // it has no modes to leave out
  return fd;
}

bool has_cpu_pmu() {
  Pmus pmus(calls::event_source_folder());
  return std::any_of(pmus.names().begin(), pmus.names().end(), [&](const std::string& name) {
    const Pmu* pmu = pmus.find(name);
    return pmu != nullptr && pmu->core;
  });
}

bool counts_cpu_work(const EventSpec& event) { return event.hardware() || event.type == PERF_TYPE_RAW; }

// Events of which some happen in any loop of user code.
bool must_advance(const EventSpec& event) {
  if (event.exclude_user || event.exclude_host) return false;
  if (event.type == PERF_TYPE_SOFTWARE) {
    return event.config == PERF_COUNT_SW_CPU_CLOCK || event.config == PERF_COUNT_SW_TASK_CLOCK;
  }
  if (event.type != PERF_TYPE_HARDWARE) return false;
  return event.config == PERF_COUNT_HW_CPU_CYCLES || event.config == PERF_COUNT_HW_INSTRUCTIONS ||
         event.config == PERF_COUNT_HW_BRANCH_INSTRUCTIONS;
}

bool advances(int fd) {
  const uint64_t before = read_count(fd, 0).value;
  volatile unsigned work = 0;
  for (unsigned i = 0; i < 200'000; ++i) work = work + i;
  return read_count(fd, 0).value > before;
}

Countability refused(const EventSpec& event, int error, bool sampling) {
  Countability answer;
  answer.counts = sampling;
  answer.why = why_refused(event, {error, sampling, has_cpu_pmu()});
  answer.instead = substitute_for(event);
  return answer;
}

}  // namespace

Countability countable(const EventSpec& event) {
  EventSpec plain = event;
  plain.precise = 0;  // asks for the sample's place, not for the count
  const auto counter = open_as_allowed(plain, attr_of(plain));
  if (!counter) return refused(event, errno, false);
  if (must_advance(event) && !advances(counter.get())) {
    return {.why = "the kernel takes it, but it stays at zero: the hypervisor does not count it",
            .instead = substitute_for(event)};
  }
  perf_event_attr sampling = attr_of(event);
  sampling.sample_period = kProbePeriod;
  sampling.sample_type = PERF_SAMPLE_IP;
  sampling.disabled = 1;
  const auto sampler = open_as_allowed(event, sampling);
  if (!sampler) return refused(event, errno, true);
  return {.counts = true, .samples = true};
}

std::string why_refused(const EventSpec& event, const Refusal& refusal) {
  if (refusal.error == EACCES || refusal.error == EPERM) {
    return "not allowed: run as root or with CAP_PERFMON, or lower kernel.perf_event_paranoid";
  }
  if (counts_cpu_work(event) && !refusal.cpu_pmu) {
    return "this machine shows no PMU of its CPUs: a virtual machine without one, or a hypervisor that hides it";
  }
  if (refusal.sampling && event.precise > 0) {
    return "it cannot be sampled this precisely here: take a p less";
  }
  if (refusal.sampling) return "it can be counted, but not sampled";
  switch (refusal.error) {
    case ENOENT:
    case EOPNOTSUPP:
      return "this CPU does not have the event";
    case ENODEV:
      return "this CPU lacks a feature that the event needs";
    case EINVAL:
      return "the kernel does not take it with these modes and terms";
    case ENOSPC:
      return "all places for it are in use";
    case EBUSY:
      return "another user has the counter for itself";
    case EMFILE:
    case ENFILE:
      return "too many open files";
    default:
      return std::strerror(refusal.error);
  }
}

std::string substitute_for(const EventSpec& event) {
  if (event.type == PERF_TYPE_HW_CACHE) return "cpu-clock, which shows where the time goes that misses cost";
  if (event.hardware()) {
    return event.config == PERF_COUNT_HW_CPU_CYCLES || event.config == PERF_COUNT_HW_REF_CPU_CYCLES
               ? "cpu-clock"
               : "cpu-clock, which shows where time is spent";
  }
  if (event.type == PERF_TYPE_RAW) return "cpu-clock";
  return {};
}

}  // namespace tephra::kernel
