#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/recording.h"

namespace tephra::cli {

// How the scheduler is recorded.
struct SchedRecording {
  std::string output = "perf.data";
  bool kept = true;  // false: the file is read and removed, and need not be told of
  std::string seconds;
  std::string cpus;
  bool stacks = false;
  bool quiet = false;
  std::vector<std::string> program;
  std::vector<std::string> command_line;
};

// Records all CPUs into a file. An error, or the status of a program that was run; `started` is false where it could
// not be started, which was told.
struct SchedRecorded {
  int status = 0;
  bool started = true;
};
base::Result<SchedRecorded> record_sched(const SchedRecording& recording);

// `tephra sched record`.
base::Result<int> run_sched_record(std::span<const std::string> arguments);

}  // namespace tephra::cli
