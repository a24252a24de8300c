#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "collect/event_attr.h"
#include "collect/flight.h"
#include "collect/off_cpu_settings.h"
#include "collect/record_summary.h"
#include "collect/recording_output.h"
#include "collect/target.h"
#include "kernel/activity_program.h"
#include "kernel/event_names.h"

namespace tephra::collect {

struct RecordOptions {
  Target target;
  std::vector<kernel::EventSpec> events;  // empty: default_event()
  std::vector<std::string> choices;       // what was decided before, to be told when it begins
  bool default_event_added = false;       // what default_event() chose is among them, which is told where it matters
  SampleSettings sampling;
  std::optional<uint64_t> ring_bytes;  // per CPU, a power of two of at least a page; given: exactly that or an error
  OutputSettings output;
  std::optional<double> duration_s;  // then the recording ends, and a program we started gets SIGTERM
  std::optional<double> delay_s;     // events are off so long; negative: until a control command
  std::optional<FlightSettings> flight;
  std::optional<OffCpuSettings>
      off_cpu;  // waits of threads are collected, as samples of events that are among `events`
  std::vector<kernel::Activity> activities;         // summed up in the kernel, likewise (activity_settings.h)
  std::string control;                              // "fifo:CTL[,ACK]" or "fd:CTL[,ACK]"; empty: none
  bool java_maps = true;                            // let Java processes write the names of compiled methods
  std::vector<std::string> command_line;            // stored in the file
  bool embed_names = true;                          // look up the names of what was sampled, and store them too
  std::function<void(const std::string&)> on_note;  // told of choices and fallbacks, one line each; may be empty
};

using OnProgress = std::function<void(const Progress&)>;

// Records into a perf.data file until the target ends, the duration is over, or SIGINT, SIGTERM or SIGHUP comes.
// A program we started is sent SIGTERM when the recording ends before it, and waited for (a second signal to us kills
// it). After an error in the middle (a full disk) the file holds what was recorded, or is removed if that is nothing.
// Blocks those signals and SIGCHLD in the calling thread meanwhile. One recording at a time in a process.
base::Result<RecordSummary> record(const RecordOptions& options, const OnProgress& on_progress);

// Cycles where this machine counts them, else cpu-clock.
kernel::EventSpec default_event();

}  // namespace tephra::collect
