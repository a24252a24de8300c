#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tephra::kernel {

// What /proc tells. A process may vanish between any two calls, so absence is an empty answer, never an error.

// `root`: a folder that plays the machine in tests.
std::vector<pid_t> all_processes(const std::string& root = {});
// The threads of a process, in ascending order; empty when it is gone.
std::vector<pid_t> threads_of(pid_t pid);
bool process_exists(pid_t pid);

struct TaskStatus {
  std::string comm;  // bytes as the kernel holds them, unescaped
  pid_t tgid = 0;
  pid_t ppid = 0;
};
std::optional<TaskStatus> task_status(pid_t tid);
// The same for a thread of a known process, in a quarter of the time.
std::optional<TaskStatus> thread_status(pid_t pid, pid_t tid);

enum class TaskState {
  kRunning,  // or ready to run
  kSleeping,
  kBlocked,  // in a wait that signals do not end, mostly for a disk
  kStopped,
  kTraced,  // stopped by a debugger
  kIdle,    // a kernel thread without work
  kZombie,  // ended, its parent has not asked for its status
  kDead,
};
// Of a process's first thread, or of any thread; nothing when it is gone.
std::optional<TaskState> task_state(pid_t id);
// The same from the text of /proc/PID/stat.
std::optional<TaskState> parse_task_state(std::string_view stat);

// Where the stack of a process's first thread ends, and its arguments and environment begin; nothing when it is gone or
// not ours to see.
std::optional<uint64_t> first_stack_end(pid_t pid);
// The same from the text of /proc/PID/stat.
std::optional<uint64_t> parse_first_stack_end(std::string_view stat);

// How many threads a process has, without reading their names; 0 when it is gone.
size_t thread_count(pid_t pid);

// CPU time a process used so far, or a thread where `id` is one.
std::optional<double> cpu_seconds(pid_t id);

// What CPUs did since the machine started, in seconds.
struct CpuTimes {
  double user = 0;  // guests and low priority included
  double system = 0;
  double idle = 0;
  double waiting = 0;     // idle, while a disk works for a task of this CPU
  double interrupts = 0;  // hard and soft
  double steal = 0;       // wanted to run, while the hypervisor ran something else
  double total() const { return user + system + idle + waiting + interrupts + steal; }
  CpuTimes& operator+=(const CpuTimes& other);
};
struct CpuTime {
  int cpu = 0;
  CpuTimes times;
};
// One for each CPU that is online, from /proc/stat.
std::vector<CpuTime> cpu_times();
std::vector<CpuTime> parse_cpu_times(std::string_view stat, double ticks_a_second);

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
