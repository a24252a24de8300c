#include "collect/run_meter.h"

#include <sys/resource.h>

#include <algorithm>

#include "base/clock.h"
#include "kernel/procfs.h"

namespace tephra::collect {
namespace {

double process_cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

std::vector<double> steal_by_cpu() {
  std::vector<double> steal;
  for (const auto& [cpu, times] : kernel::cpu_times()) {
    const auto place = static_cast<size_t>(cpu);
    if (place >= steal.size()) steal.resize(place + 1);
    steal[place] = times.steal;
  }
  return steal;
}

}  // namespace

RunMeter::RunMeter()
    : own_before_(process_cpu_seconds()), steal_before_(steal_by_cpu()), begun_ns_(base::monotonic_ns()) {}

double RunMeter::own_cpu_seconds() const { return process_cpu_seconds() - own_before_; }

double RunMeter::steal_seconds(const std::vector<int>& cpus) const {
  const auto steal = steal_by_cpu();
  double total = 0;
  for (const int cpu : cpus) {
    const auto place = static_cast<size_t>(cpu);
    // A CPU that came online meanwhile has no earlier reading.
    if (place < steal.size() && place < steal_before_.size())
      total += std::max(0.0, steal[place] - steal_before_[place]);
  }
  return total;
}

double RunMeter::cpu_seconds(const std::vector<int>& cpus) const {
  return static_cast<double>(base::monotonic_ns() - begun_ns_) / 1e9 * static_cast<double>(cpus.size());
}

}  // namespace tephra::collect
