#pragma once

#include <linux/perf_event.h>

#include <vector>

#include "base/result.h"
#include "collect/event_attr.h"
#include "collect/ring_set.h"
#include "collect/target.h"
#include "kernel/event_names.h"
#include "kernel/perf_event.h"

namespace tephra::collect {

// An event to open on every task and CPU of a recording.
struct PlannedEvent {
  kernel::EventSpec spec;
  perf_event_attr attr{};
  int leader = -1;           // place of the group's first event in the plan; -1: not in a group, or its first
  bool tracking = false;     // samples nothing, only tells about processes
  bool everywhere = false;   // counts on whole CPUs, also where the target is a control group
  bool overwritten = false;  // writes to rings that keep the newest records
  bool walked = false;       // its stacks are walked in the kernel

  // Whether it needs a counter of the hardware, which it may have to share.
  bool uses_counter() const;
};

struct PlanSettings {
  SampleSettings sampling;
  std::vector<CallGraph> call_graphs;  // of each event; empty: that of `sampling` for all
  bool inherit = true;
  bool starts_later = false;  // events are enabled by us, not by the exec of the program
  bool flight = false;        // samples go to rings that keep the newest records
  bool renewed = false;       // what samples may be opened anew: records about processes are left to another event
};

// The events to open, in the order in which they are opened: the one that tells about processes first. What the kernel
// may not take is tried first on our own process and given up step by step, where the user left it open: the precision
// of `:P`, groups of `:W`, the detailed form of weights. `note` is told of what was given up.
std::vector<PlannedEvent> plan_events(const std::vector<kernel::EventSpec>& specs, const Target& target,
                                      const PlanSettings& settings, const kernel::AttrSupport& support,
                                      const Note& note);

}  // namespace tephra::collect
