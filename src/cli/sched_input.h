#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/sched_latency.h"
#include "base/result.h"
#include "formats/input_file.h"
#include "stream/recording.h"
#include "stream/sched_events.h"

namespace tephra::cli {

// The options that all parts of `tephra sched` share that read a recording.
struct SchedReadFlags {
  std::string path;
  std::string pids;
  std::string tids;
  std::string comms;
  std::string cpus;
  std::string time;
  std::string from;

  void declare(CLI::App& parser);
  void declare_cpus(CLI::App& parser);
  void declare_from(CLI::App& parser);
  std::string path_or_default() const { return path.empty() ? "perf.data" : path; }
};

// In nanoseconds of the recording's clock.
struct SchedWindow {
  uint64_t begin = 0;
  uint64_t end = UINT64_MAX;
};

// "1701.5,1702" in seconds; either side may be empty.
base::Result<SchedWindow> sched_window(const std::string& text);
base::Result<analysis::SchedChoice> sched_choice(const SchedReadFlags& flags);
base::Result<std::vector<int32_t>> cpu_list(const std::string& list);
std::vector<std::string> comma_list(const std::string& list);

// A recording that is open, with what reads its events. It points into the content, whose bytes stay where they are.
struct OpenSched {
  formats::InputFile content;
  stream::Recording recording;
  stream::SchedEvents events;
};
// A file without the scheduler's events is an error that says so.
base::Result<OpenSched> open_sched(const std::string& path);

}  // namespace tephra::cli
