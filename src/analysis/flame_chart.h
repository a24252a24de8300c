#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/call_tree.h"
#include "analysis/flame_layout.h"
#include "analysis/wait_kind.h"
#include "model/profile.h"

namespace tephra::analysis {

// What ran when, a lane a thread. Times are nanoseconds from `begin` on.
struct FlameChart {
  // Something that was seen in each sample from one time to another without a break.
  struct Box {
    uint64_t begin = 0;
    uint64_t end = 0;
    uint32_t depth = 0;    // in its lane; the outermost function's is 0
    uint32_t name = 0;     // row of names
    uint64_t samples = 0;  // that it was seen in
    model::MappingId mapping;
    WaitKind wait = WaitKind::kNone;  // of the stack that it is part of
  };
  struct Lane {
    std::string thread;  // "comm-PID/TID"
    uint32_t depth = 0;  // rows in use
    uint64_t samples = 0;
    uint64_t running = 0;    // nanoseconds that samples cover
    uint64_t waiting = 0;    // those that waits cover which are known one by one
    std::vector<Box> boxes;  // parents before what they call, those of one depth in the order of time
  };
  uint64_t begin = 0;  // in the recording's clock
  uint64_t duration = 0;
  uint64_t period = 0;  // the usual time from sample to sample
  std::vector<CallName> names;
  std::vector<Lane> lanes;  // those that ran most come first, then those that waited most
};

// The samples must have times (stream::BuildOptions::keep_every_sample). A sample holds until the next of its thread,
// or for one period where the next is more than three away: what lies between is idle, and stays empty. Waits that are
// known one by one stand where they were; sums of waits have no place in time and are left out.
FlameChart flame_chart(const model::Profile& profile, const LabelOptions& labels = {});

// Row 0 is the whole time; each lane has a row for its thread and below it one for each depth. Nodes of rectangles: 0
// is the whole, then lane by lane the thread and its boxes (see chart_nodes).
FlameLayout chart_layout(const FlameChart& chart, uint64_t min_width = 0);

// Which lane and box a node of chart_layout() is. `box` is null for a thread's own, `lane` too for the whole.
struct ChartNode {
  const FlameChart::Lane* lane = nullptr;
  const FlameChart::Box* box = nullptr;
};
std::vector<ChartNode> chart_nodes(const FlameChart& chart);

}  // namespace tephra::analysis
