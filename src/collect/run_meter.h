#pragma once

#include <cstdint>
#include <vector>

namespace tephra::collect {

// What a recording costs, and what the machine kept from it, from its construction on.
class RunMeter {
 public:
  RunMeter();

  // CPU time of this process.
  double own_cpu_seconds() const;
  // CPU time that a hypervisor gave to others, and CPU time in all, over these CPUs.
  double steal_seconds(const std::vector<int>& cpus) const;
  double cpu_seconds(const std::vector<int>& cpus) const;

 private:
  double own_before_;
  std::vector<double> steal_before_;  // by CPU
  uint64_t begun_ns_;
};

}  // namespace tephra::collect
