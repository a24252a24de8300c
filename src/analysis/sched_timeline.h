#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "analysis/sched_latency.h"
#include "stream/recording.h"
#include "stream/sched_events.h"

namespace tephra::analysis {

// A thread of a timeline; `comm` lives as long as the call that it is handed to.
struct TimelineTask {
  int32_t tid = -1;
  int32_t pid = -1;
  std::string comm;
};

// A line of a timeline. Times are in nanoseconds.
struct TimelineEntry {
  enum class Kind { kSwitch, kWakeup, kMigration };
  Kind kind = Kind::kSwitch;
  uint64_t time = 0;
  int32_t cpu = -1;
  TimelineTask task;   // who left the CPU, or woke or moved another
  TimelineTask other;  // who came, or was woken or moved
  // Of a switch: how long the thread was off its CPU before this run, how much of that after it was woken, and how
  // long it ran. Where records are missing in between it is not known.
  uint64_t wait = 0;
  uint64_t delay = 0;
  uint64_t run = 0;
  bool wait_known = true;
  bool run_known = true;
  stream::SchedState state;
  int32_t from_cpu = -1;  // of a migration
  int32_t to_cpu = -1;
};

// Run times of a thread, for the summary below a timeline.
struct TimelineTotals {
  TimelineTask task;
  int32_t parent = -1;
  bool ended = false;
  uint64_t runs = 0;
  uint64_t total = 0;
  uint64_t shortest = UINT64_MAX;
  uint64_t longest = 0;
  double mean = 0;
  double squares = 0;  // of the distances from the mean, summed
  uint64_t migrations = 0;
  uint64_t wait = 0;
  uint64_t delay = 0;

  void add(uint64_t run);
  // The standard error of the mean, in percent of it.
  double relative_error() const;
};

struct Timeline {
  std::vector<TimelineTotals> threads;             // by tid
  std::vector<std::pair<int32_t, uint64_t>> idle;  // of each CPU
  uint64_t switches = 0;
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t lost = 0;
};

struct TimelineOptions {
  SchedChoice choice;
  std::vector<int32_t> cpus;  // empty: all
  uint64_t begin = 0;
  uint64_t end = UINT64_MAX;
  DelayFrom from = DelayFrom::kBest;
};

// Calls visit for each entry in the order of time, as `perf sched timehist` counts them: a run is told when it ends.
Timeline sched_timeline(const stream::Recording& recording, const stream::SchedEvents& events,
                        const TimelineOptions& options, const std::function<void(const TimelineEntry&)>& visit);

}  // namespace tephra::analysis
