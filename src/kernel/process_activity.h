#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tephra::kernel {

// What a process did in a while, added over its threads, from the counts that /proc keeps anyway.
struct ProcessActivity {
  double seconds = 0;  // looked at
  double user_seconds = 0;
  double system_seconds = 0;
  double queued_seconds = 0;  // ready to run and waiting for a CPU
  uint64_t threads = 0;       // at the end
  // Of the looks at its threads, how many found one ...
  uint64_t looks = 0;
  uint64_t running = 0;  // running or ready to
  uint64_t blocked = 0;  // in an uninterruptible wait, mostly for a disk
  uint64_t waits = 0;    // times a thread gave up its CPU to wait
  uint64_t minor_faults = 0;
  uint64_t major_faults = 0;
  std::optional<uint64_t> read_bytes;  // from storage; nothing where we may not see it
  std::optional<uint64_t> written_bytes;
  bool ended = false;  // the process was gone before the time was over
};

// Looks at a process for so long. Nothing when it is gone before the first look.
std::optional<ProcessActivity> watch_process(pid_t pid, std::chrono::duration<double> time);

// The fields of /proc/PID/stat that matter here.
struct TaskStat {
  char state = '?';
  uint64_t minor_faults = 0;
  uint64_t major_faults = 0;
  uint64_t user_ticks = 0;
  uint64_t system_ticks = 0;
};
std::optional<TaskStat> parse_task_stat(std::string_view text);

}  // namespace tephra::kernel
