#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tephra::kernel {

// What /proc tells. A process may vanish between any two calls, so absence is an empty answer, never an error.

std::vector<pid_t> all_processes();
// The threads of a process, in ascending order; empty when it is gone.
std::vector<pid_t> threads_of(pid_t pid);
bool process_exists(pid_t pid);

struct TaskStatus {
  std::string comm;  // bytes as the kernel holds them, unescaped
  pid_t tgid = 0;
  pid_t ppid = 0;
};
std::optional<TaskStatus> task_status(pid_t tid);
// CPU time a process used so far, or a thread where `id` is one.
std::optional<double> cpu_seconds(pid_t id);

struct MemoryMap {
  uint64_t start = 0;
  uint64_t end = 0;
  uint64_t offset = 0;
  uint32_t major = 0;
  uint32_t minor = 0;
  uint64_t inode = 0;
  bool readable = false;
  bool writable = false;
  bool executable = false;
  bool shared = false;
  std::string_view path;  // empty for anonymous memory; points into the text that was parsed
};
// One line of /proc/PID/maps, nothing when it is malformed.
std::optional<MemoryMap> parse_map_line(std::string_view line);
// The whole text of /proc/PID/maps; empty when it is gone or not ours to read.
std::string maps_text(pid_t pid);

// CPUs in a kernel list such as "0-3,8".
std::optional<std::vector<int>> parse_cpu_list(std::string_view text);
std::vector<int> online_cpus();
// The same as a kernel list, for messages.
std::string online_cpu_list();
size_t present_cpu_count();

// A number of /proc/sys, for example sysctl_number("kernel/perf_event_paranoid").
std::optional<long> sysctl_number(const std::string& name);

// How often the kernel samples at most, in Hz. It lowers this by itself when sampling takes too long.
uint64_t max_sample_rate();

// Where the kernel's code is, _text to _etext; nothing when the addresses are hidden from us.
struct KernelText {
  uint64_t start = 0;
  uint64_t size = 0;
};
std::optional<KernelText> kernel_text();

struct KernelModule {
  std::string name;
  uint64_t start = 0;
  uint64_t size = 0;
};
std::vector<KernelModule> kernel_modules();

}  // namespace tephra::kernel
