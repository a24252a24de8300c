#pragma once

#include <cstdint>
#include <vector>

#include "abi/wait_record.h"

namespace tephra::stream {

// What a recording of context switches says, one step each. Threads have the numbers that the kernel gives them in
// sched_switch; `seen_tid` is what the recorder's process namespace calls the thread that gave up the CPU.
struct SwitchStep {
  enum class Kind : uint8_t {
    kSwitch,  // `tid` gave the CPU to `next`
    kWake,    // `tid` is ready to run
    kRuns,    // the thread that is seen as `seen_tid` got a CPU
  };
  uint64_t time = 0;
  uint64_t position = 0;  // in the recording
  int32_t tid = 0;
  int32_t next = 0;
  int32_t seen_tid = -1;
  int32_t cpu = -1;
  uint32_t state = 0;  // that `tid` is left in: the bits of sched_switch's prev_state
  Kind kind = Kind::kSwitch;
};

// Between these times records may be missing.
struct LostSpan {
  uint64_t begin = 0;
  uint64_t end = 0;
};

// From giving up the CPU to having one again.
struct PairedWait {
  uint64_t position = 0;  // of the switch that began it
  uint64_t waited = 0;    // nanoseconds in `state`
  uint64_t queued = 0;    // and then ready to run, where it is known when it was woken
  uint32_t state = TEPHRA_WAIT_SLEEPING;
};

struct PairedSwitches {
  std::vector<PairedWait> waits;  // by position
  uint64_t open = 0;              // waits that lasted beyond the end and count up to it
  uint64_t open_time = 0;
  uint64_t unended = 0;      // waits that are left out, since it was not recorded when they ended
  uint64_t half_told = 0;    // waits that count until the thread was woken; when it ran again was not recorded
  uint64_t across_loss = 0;  // waits that are left out, since the thread may have run while records were lost
  uint64_t across_loss_time = 0;
};

// Pairs each switch from a thread with the next switch to it, in the order of time. `end` is when the recording ended.
// Every step is looked at a constant number of times, beside the sorting. What the steps do not prove is no wait.
PairedSwitches pair_switches(std::vector<SwitchStep> steps, std::vector<LostSpan> lost, uint64_t end);

// enum tephra_wait_state, by the bits of prev_state, which differ between kernels; TEPHRA_WAIT_STATES: the thread
// ended.
uint32_t wait_state_of(uint64_t prev_state);

}  // namespace tephra::stream
