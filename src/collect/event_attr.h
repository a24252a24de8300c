#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <optional>

#include "kernel/event_names.h"
#include "kernel/perf_event.h"

namespace tephra::collect {

enum class CallGraph { kNone, kFramePointers, kDwarf };

inline constexpr uint64_t kDefaultFrequency = 4000;
inline constexpr uint32_t kDefaultStackBytes = 8192;
// The kernel's record size is 16 bits; perf allows the same.
inline constexpr uint32_t kMaxStackBytes = 65528;

// How often and with what each sample is taken; the same for all events of a recording.
struct SampleSettings {
  std::optional<uint64_t> frequency;               // samples a second
  std::optional<uint64_t> period;                  // one sample every so many events
  uint64_t default_frequency = kDefaultFrequency;  // where neither is given; tracepoints are then recorded each
  CallGraph call_graph = CallGraph::kNone;
  uint32_t stack_bytes = kDefaultStackBytes;
  bool inherit = true;
};
// The attributes of a sampled event. It starts disabled.
perf_event_attr sampling_attr(const kernel::EventSpec& event, const SampleSettings& settings,
                              const kernel::AttrSupport& support);

// An event that samples nothing, for the records about processes (or, without them, to own a ring).
perf_event_attr dummy_attr(bool inherit, const kernel::AttrSupport& support);

// Asks for the records that tell which process is what and maps what. `data_maps`: also mappings that hold no code,
// which perf's unwinder needs to find call-frame tables.
void add_side_band(perf_event_attr& attr, bool data_maps, const kernel::AttrSupport& support);

// The user registers perf stores for later unwinding.
uint64_t unwind_registers();

// Bytes that follow every record that is not a sample: thread, time, CPU, identifier.
struct SampleIdTrailer {
  uint32_t pid = 0;
  uint32_t tid = 0;
  uint64_t time = 0;
  uint32_t cpu = 0;
  uint32_t reserved = 0;
  uint64_t identifier = 0;
};
static_assert(sizeof(SampleIdTrailer) == 32);

// Where the time of a sample stands, from the start of its record, with the sample_type used here.
inline constexpr size_t kSampleTimeOffset = 32;

}  // namespace tephra::collect
