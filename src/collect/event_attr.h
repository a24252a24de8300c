#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <optional>

#include "kernel/event_names.h"
#include "kernel/perf_event.h"

namespace tephra::collect {

// How the user part of a stack is taken.
enum class CallGraph {
  kNone,
  kAuto,  // the best of the others that works here (see stack_choice.h); no event is opened with it
  kBpf,   // walked in the kernel by call-frame tables; a copy of the stack where they are not ready
  kFramePointers,
  kDwarf,     // a copy of the stack, to be walked later
  kBranches,  // the processor's record of calls (LBR)
};

inline constexpr uint64_t kDefaultFrequency = 4000;
inline constexpr uint32_t kDefaultStackBytes = 8192;
// Of the few samples that are taken before tables are ready.
inline constexpr uint32_t kStartStackBytes = 32768;
// Where it can change while recording: enough for most programs.
inline constexpr uint32_t kFirstStackBytes = 16384;
// The kernel's record size is 16 bits; perf allows the same.
inline constexpr uint32_t kMaxStackBytes = 65528;

// How often and with what each sample is taken; the same for all events of a recording.
struct SampleSettings {
  std::optional<uint64_t> frequency;               // samples a second
  std::optional<uint64_t> period;                  // one sample every so many events
  uint64_t default_frequency = kDefaultFrequency;  // where neither is given; tracepoints are then recorded each
  CallGraph call_graph = CallGraph::kNone;
  bool check_walks = false;  // with kBpf: each sample is taken in both ways, to compare them
  uint32_t stack_bytes = kDefaultStackBytes;
  bool copies_may_grow = false;       // with kAuto: copies of stacks may begin small, since events can be opened again
  std::optional<uint16_t> max_stack;  // frames; not given: the kernel's limit
  bool user_stacks = true;
  bool kernel_stacks = true;
  bool user_code = true;      // false: as :k on every event without modes of its own
  bool kernel_code = true;    // false: as :u
  uint64_t branch_types = 0;  // PERF_SAMPLE_BRANCH_*; 0: no branch stacks
  bool addresses = false;     // of the data accessed, and where it came from
  bool physical_addresses = false;
  bool data_page_size = false;
  bool code_page_size = false;
  bool weights = false;
  bool raw = false;            // the raw data of every event, not of tracepoints alone
  bool thread_counts = false;  // each thread's counts, when it ends
  bool switches = false;       // records of context switches
  bool namespaces = false;     // records of namespaces
  bool cgroups = false;        // records of control groups, and each sample's
  bool build_ids = true;       // of what is mapped, by the kernel
  bool inherit = true;
};
// The attributes of a sampled event. It starts disabled.
perf_event_attr sampling_attr(const kernel::EventSpec& event, const SampleSettings& settings,
                              const kernel::AttrSupport& support);

// An event that samples nothing, for the records about processes (or, without them, to own a ring).
perf_event_attr dummy_attr(bool inherit, const kernel::AttrSupport& support);

// Asks for the records that tell which process is what and maps what, and where needed mappings that hold no code,
// which perf's unwinder needs to find call-frame tables, and readers of data addresses.
void add_side_band(perf_event_attr& attr, const SampleSettings& settings, const kernel::AttrSupport& support);
bool needs_data_maps(const SampleSettings& settings);

// The rate of an event: its own, else that of the settings, else the usual one of its kind.
void set_rate(perf_event_attr& attr, const kernel::EventSpec& event, const SampleSettings& settings);

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
