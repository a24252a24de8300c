#pragma once

#include <cstdint>
#include <string_view>

#include "abi/wait_record.h"

namespace tephra::stream {

// The event that waits are shown as, and its labels (see model::Label). The time of a sample is when the wait began.
inline constexpr std::string_view kWaitEvent = "offcpu-time";
inline constexpr std::string_view kWaitsCounted = "waits";
inline constexpr std::string_view kWakersEvent = "wakers";
inline constexpr std::string_view kRunTimeEvent = "run-time";  // how long threads ran, where all their time is recorded
inline constexpr std::string_view kStateLabel = "state";       // a name of wait_state_name
// Of recordings that tell more (abi/wait_record.h):
inline constexpr std::string_view kSyscallLabel = "syscall";  // the name of the system call
inline constexpr std::string_view kLockLabel = "lock";        // the address of a futex, "0x7f…"
inline constexpr std::string_view kCauseLabel = "cause";      // kCauseDisk, kCauseFault
inline constexpr std::string_view kCauseDisk = "disk";
inline constexpr std::string_view kCauseFault = "fault";
inline constexpr std::string_view kExtentLabel = "wait";  // kSingleWait: one wait; else the sum of several
inline constexpr std::string_view kSingleWait = "single";
inline constexpr std::string_view kOpenLabel =
    "open";  // "begin", "end", "begin and end": it lasted longer than recorded
inline constexpr std::string_view kStackLabel = "stack";             // of waits without a stack: why
inline constexpr std::string_view kStackNotKept = "not kept";        // there was no room for their sums
inline constexpr std::string_view kStackNotSampled = "not sampled";  // to keep the budget
inline constexpr std::string_view kStackLost = "lost";               // on its way out of the kernel
inline constexpr std::string_view kWakerLabel = "waker";       // a number: of the sample of `wakers` that ended it
inline constexpr std::string_view kWokenByLabel = "woken by";  // of samples of `wakers`: who had woken them

constexpr std::string_view wait_state_name(uint32_t state) {
  switch (state) {
    case TEPHRA_WAIT_SLEEPING:
      return "sleeping";
    case TEPHRA_WAIT_UNINTERRUPTIBLE:
      return "uninterruptible";
    case TEPHRA_WAIT_RUN_QUEUE:
      return "run queue";
    default:
      return "other";
  }
}

}  // namespace tephra::stream
