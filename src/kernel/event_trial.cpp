#include "kernel/event_trial.h"

#include <dirent.h>
#include <linux/perf_event.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "kernel/perf_calls.h"
#include "kernel/perf_event.h"
#include "kernel/procfs.h"

namespace tephra::kernel {
namespace {

perf_event_attr sampling(uint32_t type, uint64_t config, bool with_kernel) {
  perf_event_attr attr = empty_attr();
  attr.type = type;
  attr.config = config;
  attr.disabled = 1;
  attr.freq = 1;
  attr.sample_freq = 99;
  attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_CALLCHAIN;
  attr.exclude_hv = 1;
  attr.exclude_kernel = with_kernel ? 0 : 1;
  attr.exclude_callchain_kernel = attr.exclude_kernel;
  return attr;
}

Trial try_open(const perf_event_attr& attr, const EventScope& scope) {
  const auto fd = open_event(attr, scope);
  return fd ? granted() : refused(errno);
}

std::vector<std::string> event_sources() {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(calls::event_source_folder().c_str()), ::closedir);
  if (!folder) return names;
  while (const dirent* entry = ::readdir(folder.get())) {
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

bool EventTrials::has_source(const std::string& name) const {
  return std::find(sources.begin(), sources.end(), name) != sources.end();
}

EventTrials try_events() {
  const auto clock = [](bool with_kernel) {
    return sampling(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, with_kernel);
  };
  const auto cpus = online_cpus();
  EventTrials trials;
  trials.user = try_open(clock(false), EventScope::task(0, -1));
  trials.kernel = try_open(clock(true), EventScope::task(0, -1));
  trials.every_process = try_open(clock(false), EventScope::everything(cpus.empty() ? 0 : cpus.front()));
  trials.cycles = try_open(sampling(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, false), EventScope::task(0, -1));
  trials.cycles_count = trials.cycles.works && counts_here(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
  trials.sources = event_sources();
  return trials;
}

Trial try_process_event(pid_t pid) {
  return try_open(sampling(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, false), EventScope::task(pid, -1));
}

}  // namespace tephra::kernel
