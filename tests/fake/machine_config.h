#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tephra::fake {

// Which attributes a kernel knows. Bits are counted from the lowest.
struct KernelAge {
  uint32_t attr_bytes = 128;
  int flag_bits = 38;                 // of the bit field that begins with `disabled`
  int sample_bits = 25;               // of sample_type
  int read_bits = 5;                  // of read_format
  int branch_bits = 19;               // of branch_sample_type
  bool inherited_sample_read = true;  // PERF_SAMPLE_READ together with inherit
};
// A kernel by its version, of those in the table: 3.10, 4.4, 4.19, 5.4, 5.15, 6.1, 6.12.
std::optional<KernelAge> kernel_age(std::string_view version);

// A refusal that the user of the environment variable asked for.
struct Refusal {
  std::string call;   // "perf_event_open", "mmap", "ioctl"
  std::string event;  // only this kind of event: hardware, software, tracepoint, branches, precise, group; empty: any
  int error = 0;
  uint64_t after = 0;  // so many calls succeed first
  uint64_t times = UINT64_MAX;
};

// What kind of machine and kernel is played.
struct MachineConfig {
  int cpus = 2;
  bool pmu = true;         // hardware counters exist
  bool stuck = false;      // they are accepted and never count, as in some virtual machines
  int counters = 4;        // of the cpu PMU, on each CPU
  int taken_counters = 0;  // of those, held by somebody else (the NMI watchdog)
  int uncore_counters = 2;
  int breakpoints = 4;
  int max_precise = 3;
  int branches = 32;               // entries of a branch stack; 0: the machine has none
  bool branch_call_stacks = true;  // the branch stack can be kept as a call stack
  KernelAge kernel;

  bool privileged = true;  // CAP_PERFMON; else `paranoid` decides
  int paranoid = 2;
  uint64_t max_sample_rate = 100'000;
  uint64_t mlock_bytes = UINT64_MAX;  // all rings together
  uint64_t tick_ns = 1'000'000;       // events are rotated over counters, and throttled ones resumed, this often

  // For the background thread of the program.
  bool throttle = false;      // samples come in bursts above the limit
  uint64_t lose = 0;          // so many records of each ring find no room, soon after its start
  uint64_t lose_samples = 0;  // so many samples of each hardware event are lost by the PMU
  double rate = 1;            // factor on what events count
  std::vector<std::pair<std::string, double>> functions;  // which functions of the program run, with their weights
  std::vector<Refusal> refusals;
};

// Reads "counters=4,branches=0,refuse=perf_event_open:EPERM"; see README.md for all words.
base::Result<MachineConfig> parse_machine(std::string_view text);

// The number of an errno's name; 0 where there is none of that name.
int errno_of(std::string_view name);

}  // namespace tephra::fake
