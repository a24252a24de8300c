#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string_view>

#include "abi/activity.h"
#include "base/result.h"
#include "kernel/watching.h"

namespace tephra::kernel {

// What is summed up in the kernel: one file of programs each (bpf/NAME.bpf.c, over bpf/activity.h).
enum class Activity { kSyscalls, kIo, kTcp };

// Whether this kernel has a tracepoint that programs with its types can be attached to ("sock_send_length").
bool has_tracepoint(const char* name);

// Sums up in the kernel what threads do, by their stacks. Needs Linux 5.17.
class ActivityProgram {
 public:
  struct Settings : WatchSettings {
    Activity activity = Activity::kSyscalls;
    uint32_t max_sums = 1 << 14;
    uint32_t max_unkept = 1 << 12;
  };

  // Whom the program tells what.
  class Listener : public StackListener {
   public:
    using StackListener::hear;
    virtual void hear(const tephra_activity_key& key, const tephra_activity_sum& sum) = 0;
  };

  // Loads and attaches it; nothing is counted yet. The error says why it cannot be had.
  static base::Result<std::unique_ptr<ActivityProgram>> load(const Settings& settings);
  virtual ~ActivityProgram() = default;

  // A process that is to be watched from its next exec on.
  virtual void await(pid_t pid) = 0;
  // Counts from now on.
  virtual void begin() = 0;

  // Readable when the ring should be read.
  virtual int fd() const = 0;
  virtual void read_ring(Listener& listener) = 0;
  // The ring and the sums since the last call; takes a few milliseconds, in which the kernel lets running programs end.
  virtual base::Status read_all(Listener& listener) = 0;
  // Ends counting, and tells the rest: what goes on (TEPHRA_ACTIVITY_OPEN), and what had no room for its stack
  // (TEPHRA_ACTIVITY_NO_STACK; with thread 0 nobody knows whose it was).
  virtual base::Status stop(Listener& listener) = 0;

  virtual uint64_t begun_ns() const = 0;    // CLOCK_MONOTONIC
  virtual uint64_t stopped_ns() const = 0;  // 0: it counts still

  struct Totals {
    uint64_t stacks = 0;
    uint64_t no_walk = 0;
    uint64_t stacks_not_sent = 0;
    uint64_t not_watched = 0;
    uint64_t unmatched = 0;
    uint64_t untimed = 0;
    uint64_t not_attributed = 0;
    uint64_t missed = 0;
    double ns_per_stack = 0;  // measured at some; 0: not measured
  };
  virtual Totals totals() const = 0;
};

}  // namespace tephra::kernel
