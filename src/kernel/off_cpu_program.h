#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>

#include "abi/off_cpu.h"
#include "base/result.h"
#include "kernel/watching.h"

namespace tephra::kernel {

// Times in the scheduler how long threads are away from a CPU, with their stacks: bpf/off_cpu.bpf.c. Needs Linux 5.17.
class OffCpuProgram {
 public:
  struct Settings : WatchSettings {
    uint32_t states = (1u << TEPHRA_WAIT_STATES) - 1;  // bits by enum tephra_wait_state: those that are told
    std::chrono::nanoseconds shortest{0};
    std::chrono::nanoseconds longest = std::chrono::nanoseconds::max();
    std::chrono::nanoseconds threshold{5'000'000};  // from here on waits are told one by one
    bool running = false;        // also the time on a CPU (TEPHRA_RAN), and that of new threads before they first run
    bool split_wakeups = false;  // from being woken to running is time in the run queue; else it belongs to the wait
    bool wakers = false;
    double budget = 0;  // what stacks may cost, as a share of each CPU; 0: what they cost
    uint32_t max_sums = 1 << 14;
    uint32_t max_unkept = 1 << 14;
  };

  // Whom the program tells what.
  class Listener : public StackListener {
   public:
    using StackListener::hear;
    virtual void hear(const tephra_wait_told& wait) = 0;
    virtual void hear(const tephra_waker_told& waker) = 0;
    virtual void hear(const tephra_wait_key& key, const tephra_wait_sum& sum) = 0;
  };

  // Loads and attaches it; nothing is counted yet. The error says why it cannot be had.
  static base::Result<std::unique_ptr<OffCpuProgram>> load(const Settings& settings);
  virtual ~OffCpuProgram() = default;

  // A process that is to be watched from its next exec on.
  virtual void await(pid_t pid) = 0;
  // Counts from now on. What waits already is told with its stack.
  virtual base::Status begin(Listener& listener) = 0;
  // Takes one stack in so many; waits without one have TEPHRA_WAIT_NO_STACK.
  virtual void take_one_stack_in(uint32_t n) = 0;

  // Readable when the ring should be read.
  virtual int fd() const = 0;
  virtual void read_ring(Listener& listener) = 0;
  // The ring and the sums since the last call; takes a few milliseconds, in which the kernel lets running programs end.
  virtual base::Status read_all(Listener& listener) = 0;
  // Ends counting, and tells the rest: waits that go on, and what had no room for its stack (TEPHRA_WAIT_NO_STACK).
  virtual base::Status stop(Listener& listener) = 0;

  virtual uint64_t begun_ns() const = 0;    // CLOCK_MONOTONIC
  virtual uint64_t met_ns() const = 0;      // when what was awaited ran its program; 0: it has not
  virtual uint64_t stopped_ns() const = 0;  // 0: it counts still

  struct Totals {
    uint64_t switches = 0;  // of watched threads away from a CPU
    uint64_t stacks_not_sent = 0;
    uint64_t stacks_copied = 0;
    uint64_t not_watched = 0;
    uint64_t skipped = 0;
    uint64_t missed = 0;  // switches and wake-ups in the midst of others, which were not seen
    double ns_per_switch = 0;  // what taking the stack cost, measured at some; 0: not measured
  };
  virtual Totals totals() const = 0;
};

}  // namespace tephra::kernel
