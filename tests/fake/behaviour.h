#pragma once

#include <linux/perf_event.h>
#include <sys/types.h>

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tephra::fake {

// Where a task is when it is sampled.
struct Place {
  double weight = 1;
  uint64_t ip = 0x401000;
  std::vector<uint64_t> callers;         // user code, the innermost first
  std::vector<uint64_t> kernel_callers;  // for a place in the kernel: the kernel's part of the chain
  bool kernel = false;                   // `ip` is the kernel's; `callers` begin with the user code it was called from
};

// One branch of a branch stack, with what filters ask about it.
struct Branch {
  uint64_t from = 0;
  uint64_t to = 0;
  uint32_t kind = PERF_BR_UNCOND;  // PERF_BR_*
  bool mispredicted = false;
  uint16_t cycles = 0;
  bool kernel = false;
};

// What a program does, the same again and again.
struct Code {
  std::vector<Place> places{Place{}};
  std::vector<Branch> branches;  // the latest first; made up from the places where empty
};

// A task that runs on a CPU.
struct Task {
  pid_t pid = 0;
  pid_t tid = 0;
  int cpu = 0;
  std::shared_ptr<const Code> code;  // null: one place of user code
  std::string cgroup;                // the folder of its control group
};

struct EventKey {
  uint32_t type = 0;
  uint64_t config = 0;
  auto operator<=>(const EventKey&) const = default;
};

// What happens on the machine for a while: one task a CPU at most, and how often events happen in one, in events a
// nanosecond. Events that are not named here happen as often as default_rate says.
struct Behaviour {
  std::vector<Task> running;
  std::map<EventKey, double> rates;
  double burst = 1;  // so many times more often than the kernel expected when it chose periods
};

double default_rate(const EventKey& event);

// A mapping that appears in a process.
struct Mapping {
  uint64_t start = 0;
  uint64_t size = 0;
  uint64_t offset = 0;
  std::string path;
  bool executable = true;
  uint32_t major = 8;
  uint32_t minor = 1;
  uint64_t inode = 1;
  std::string build_id;  // raw bytes; empty: unknown
};

}  // namespace tephra::fake
