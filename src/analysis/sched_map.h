#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "analysis/sched_latency.h"
#include "stream/recording.h"
#include "stream/sched_events.h"

namespace tephra::analysis {

// What a CPU runs at a moment.
struct MapCell {
  enum class Kind { kUnknown, kIdle, kRuns };
  Kind kind = Kind::kUnknown;
  int32_t tid = -1;
  uint32_t number = 0;  // of the thread in the order in which they came; the view makes a short name of it
};

// A moment at which a CPU begins to run something else.
struct MapStep {
  uint64_t time = 0;
  size_t column = 0;               // of the CPU that changed
  std::span<const MapCell> cells;  // one for each CPU
  bool first = false;              // what runs there now was not seen before
  std::string comm;                // of what runs there now, where it is told: at first
};

struct MapOptions {
  SchedChoice choice;  // others are shown as unknown
  std::vector<int32_t> cpus;
  uint64_t begin = 0;
  uint64_t end = UINT64_MAX;
};

// The CPUs of a recording that a map shows, ascending; the columns of all steps. So many at most.
inline constexpr size_t kMostMapCpus = 512;
struct MapCpus {
  std::vector<int32_t> shown;
  size_t left_out = 0;
};
MapCpus map_cpus(const stream::Recording& recording, const MapOptions& options);

// Calls visit at every switch on those CPUs, in the order of time. Returns how many records were lost.
uint64_t sched_map(const stream::Recording& recording, const stream::SchedEvents& events, const MapCpus& cpus,
                   const MapOptions& options, const std::function<void(const MapStep&)>& visit);

}  // namespace tephra::analysis
