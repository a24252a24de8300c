#pragma once

#include <string>
#include <vector>

#include "analysis/sched_latency.h"
#include "analysis/sched_map.h"
#include "analysis/sched_timeline.h"

namespace tephra::views {

// The table of threads, or of names where `merged`; below it what else there is to know.
std::string sched_latency_text(const analysis::SchedLatency& latency, const std::vector<analysis::SchedThread>& rows,
                               bool merged);

// One chosen thread after the other: its times, who preempted it, who ran instead, what interrupted it.
std::string sched_who_text(const analysis::SchedLatency& latency);

struct TimelineTextOptions {
  bool wakeups = false;
  bool migrations = false;
  bool next = false;
  bool state = false;
};
// In the columns of `perf sched timehist`.
std::string timeline_header(const TimelineTextOptions& options);
void append_timeline_entry(std::string& out, const analysis::TimelineEntry& entry, const TimelineTextOptions& options);
std::string timeline_summary(const analysis::Timeline& timeline, bool migrations);

// In the manner of `perf sched map`: a column for each CPU.
void append_map_step(std::string& out, const analysis::MapStep& step, bool color);

// What a recording lost, as a sentence; empty where that is nothing.
std::string lost_note(uint64_t lost);

}  // namespace tephra::views
