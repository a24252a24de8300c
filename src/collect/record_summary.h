#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collect/recording_output.h"
#include "collect/stack_engine.h"
#include "model/profile.h"

namespace tephra::collect {

// Told once a second or more often, and at the end.
struct Progress {
  double seconds = 0;
  uint64_t samples = 0;
  uint64_t lost = 0;
  uint64_t bytes = 0;
  size_t snapshots = 0;
  bool flight = false;
  bool keys = false;  // the key s takes a snapshot
  bool finished = false;
};

struct RecordSummary {
  uint64_t samples = 0;
  uint64_t lost = 0;                          // records the kernel found no room for
  uint64_t throttled = 0;                     // times the kernel paused an event that fired too often
  uint64_t late_writes = 0;                   // times the output took so long that rings could fill
  uint64_t rings_grown = 0;                   // times a ring was exchanged for a larger one
  uint64_t wakeups = 0;                       // times the recorder was woken
  size_t ring_bytes = 0;                      // of one ring at the end
  size_t cpus = 0;                            // that were recorded
  std::optional<StackEngine::Totals> stacks;  // where stacks were walked in the kernel
  std::vector<model::CopySize> copy_sizes;    // of stacks, where they were ours to choose
  OutputTotals output;
  std::string path;              // of the file written last
  uint64_t named_addresses = 0;  // whose names are stored in the recordings
  uint64_t names_bytes = 0;      // of the sections with them
  double names_cpu_seconds = 0;  // what looking them up cost
  std::vector<std::string> snapshots;
  double seconds = 0;          // from the start to the last event disabled, a delay included
  double own_cpu_seconds = 0;  // what recording cost
  double steal_seconds = 0;    // CPU time that a hypervisor gave to others meanwhile, over the CPUs recorded
  std::string event_name;      // what was sampled, for example "cpu-clock and page-faults"
  bool interrupted = false;    // a signal ended it
  bool full = false;           // the size limit ended it
  uint64_t beyond_limit = 0;   // samples for which the size limit left no room
  bool done_early = false;     // it ended before its program because all that was asked for was recorded
  bool reader_gone = false;    // the reader of the stream ended it
  bool target_exited = false;
  pid_t program_pid = 0;   // of the program we started
  int program_status = 0;  // as a shell shows it; 0 without a program
  int start_error = 0;     // errno when the program could not be started: nothing was recorded, no file is left
};

}  // namespace tephra::collect
