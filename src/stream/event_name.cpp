#include "stream/event_name.h"

#include <fmt/format.h>
#include <linux/perf_event.h>

#include <array>

namespace tephra::stream {
namespace {

constexpr std::array<std::string_view, 10> kHardware{
    "cycles",        "instructions", "cache-references",        "cache-misses",           "branches",
    "branch-misses", "bus-cycles",   "stalled-cycles-frontend", "stalled-cycles-backend", "ref-cycles"};
constexpr std::array<std::string_view, 12> kSoftware{
    "cpu-clock",        "task-clock",   "page-faults",  "context-switches",
    "cpu-migrations",   "minor-faults", "major-faults", "alignment-faults",
    "emulation-faults", "dummy",        "bpf-output",   "cgroup-switches"};

}  // namespace

std::string name_of(const EventLayout& layout) {
  if (layout.type == PERF_TYPE_HARDWARE && layout.config < kHardware.size()) {
    return std::string(kHardware[layout.config]);
  }
  if (layout.type == PERF_TYPE_SOFTWARE && layout.config < kSoftware.size()) {
    return std::string(kSoftware[layout.config]);
  }
  if (layout.type == PERF_TYPE_RAW) return fmt::format("r{:x}", layout.config);
  return fmt::format("type:{}:{:#x}", layout.type, layout.config);
}

std::string_view unit_of(const EventLayout& layout) {
  const bool clock = layout.type == PERF_TYPE_SOFTWARE &&
                     (layout.config == PERF_COUNT_SW_CPU_CLOCK || layout.config == PERF_COUNT_SW_TASK_CLOCK);
  return clock ? "ns" : "events";
}

}  // namespace tephra::stream
