#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "stream/lost_spans.h"
#include "stream/recording.h"
#include "stream/sched_events.h"

namespace tephra::analysis {

// How long a thread that could run waited for a CPU. Times are in nanoseconds of the recording's clock.
struct RunQueueDelays {
  std::vector<uint64_t> each;  // ascending, once finished
  uint64_t total = 0;
  uint64_t worst = 0;
  uint64_t worst_from = 0;
  uint64_t worst_to = 0;

  void add(uint64_t from, uint64_t to);
  void add(const RunQueueDelays& other);
  void finish();
  uint64_t count() const { return each.size(); }
  uint64_t average() const { return each.empty() ? 0 : total / each.size(); }
  // The smallest delay that `share` of all delays do not exceed. Only once finished.
  uint64_t quantile(double share) const;
};

// Who took the CPU from a thread that could have run on.
struct Preemptor {
  int32_t tid = -1;
  uint64_t times = 0;
  uint64_t waited = 0;  // until the thread ran again, whoever ran meanwhile
};

// Interrupts of one kind that ran while a thread was on its CPU.
struct InterruptTime {
  stream::InterruptKind kind = stream::InterruptKind::kHard;
  int32_t number = 0;
  std::string name;
  uint64_t times = 0;
  uint64_t total = 0;  // without the interrupts inside
  uint64_t worst = 0;
};

// How long a thread waited for a CPU while that one ran this.
struct RanInstead {
  int32_t tid = -1;
  uint64_t times = 0;
  uint64_t waited = 0;
};

struct SchedThread {
  int32_t tid = -1;
  int32_t pid = -1;  // -1: not told
  std::string comm;
  uint64_t threads = 1;   // how many were merged
  uint64_t run = 0;       // from one switch to the next
  uint64_t edge_run = 0;  // before the first switch of a CPU and after the last one
  uint64_t runs = 0;
  uint64_t unknown_runs = 0;  // that ended here: when they began is not known
  uint64_t accounted = 0;     // run time as the kernel accounts it, where that was recorded
  RunQueueDelays delays;
  uint64_t woken = 0;                  // delays after a wake-up
  uint64_t preempted = 0;              // times it lost its CPU though it could run on
  uint64_t preempted_waited = 0;       // the delays behind those
  uint64_t unknown_delays = 0;         // records were lost while it waited
  uint64_t runs_without_a_wakeup = 0;  // what made it run was not recorded
  uint64_t waits_not_followed = 0;     // too many waited to tell who ran instead of this one
  bool first_seen_switched_in = false;
  std::optional<uint64_t> waiting_since;  // it could run and waited when the recording ended
  uint64_t migrations = 0;
  std::vector<Preemptor> preemptors;      // the most time first
  std::vector<InterruptTime> interrupts;  // the most time first
  std::vector<RanInstead> ran_instead;    // of chosen threads; the most time first

  uint64_t whole_run() const { return run + edge_run; }
  uint64_t interrupted() const;
};

struct SchedLatency {
  std::vector<SchedThread> threads;  // without the idle tasks; in the order in which they were seen
  uint64_t begin = 0;                // of the first event
  uint64_t end = 0;
  uint64_t switches = 0;
  uint64_t cpus = 0;
  uint64_t idle = 0;              // run time of the idle tasks, over all CPUs
  uint64_t lost = 0;              // records
  uint64_t unknown_runs = 0;      // runs during which records were lost, or whose switches do not fit together
  bool from_waking = false;       // delays begin at sched_waking, else at sched_wakeup
  bool wakeups_recorded = false;  // by that event
  bool migrations_recorded = false;
  bool interrupts_recorded = false;
  std::optional<double> steal_share;  // of CPU time while recording

  // The name of a thread, for preemptors.
  std::map<int32_t, std::string> names;
};

struct SchedChoice {
  std::vector<int32_t> pids;
  std::vector<int32_t> tids;
  std::vector<std::string> comms;

  bool all() const { return pids.empty() && tids.empty() && comms.empty(); }
  bool takes(int32_t pid, int32_t tid, const std::string& comm) const;
};

enum class DelayFrom { kBest, kWakeup };

struct SchedLatencyOptions {
  SchedChoice choice;
  DelayFrom from = DelayFrom::kBest;  // kBest: sched_waking where it was recorded
  bool ran_instead = false;           // of the chosen threads, which costs time for each one that waits
  uint64_t begin = 0;
  uint64_t end = UINT64_MAX;
};

// Reads a whole recording, once, in the order of time.
SchedLatency sched_latency(const stream::Recording& recording, const stream::SchedEvents& events,
                           const SchedLatencyOptions& options);

// Threads of the same name in one row, as perf does.
std::vector<SchedThread> merged_by_name(std::vector<SchedThread> threads);

enum class SchedSort { kAverage, kWorst, kSwitches, kRunTime, kTid };
// By the first key, the largest first; equal ones by the next. Tids ascend.
void sort_threads(std::vector<SchedThread>& threads, const std::vector<SchedSort>& keys);

}  // namespace tephra::analysis
