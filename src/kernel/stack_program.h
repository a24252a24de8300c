#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "abi/frame_rules.h"
#include "abi/stack_walk.h"
#include "base/bytes.h"
#include "base/result.h"

namespace tephra::kernel {

// The in-kernel unwinder: BPF programs on perf events that walk the user stack at each overflow, take the kernel stack
// beside it, and send both as a finished perf SAMPLE record. A sample of a process that it has no mappings of is left
// to perf itself, which writes it as the event's attributes say (registers and a copy of the stack), and the process is
// asked for.
//
// The records have these fields, in perf's order: IDENTIFIER, IP, TID, TIME (CLOCK_MONOTONIC), ADDR if the event has
// it, CPU, PERIOD if it has it, CALLCHAIN (markers as the kernel writes them), RAW if the event tells pages
// (abi/fault_record.h), REGS_USER with abi 0 and STACK_USER with size 0, and DATA_PAGE_SIZE where there is RAW, so that
// one attr describes both kinds of samples. How the walk ended is in `misc` (abi/walk_end.h).
class StackProgram {
 public:
  struct Settings {
    uint32_t max_frames = 512;  // of the user stack; at most TEPHRA_WALK_MAX_FRAMES
    uint32_t max_kernel_frames = 127;
    uint64_t ring_bytes = 4 << 20;  // a power of two
    uint32_t max_tables = 4096;
    uint64_t max_table_bytes = 256 << 20;
    uint32_t max_mappings = 1 << 16;  // of all processes together
    uint32_t max_processes = 1 << 14;
    uint32_t copies_at_once = 64;  // that a CPU may leave to perf in ten milliseconds
    bool kernel_stacks = true;
    bool user_stacks = true;
    bool page_faults = false;  // some of the events are of page faults
    bool also_raw = false;     // for checking: perf writes its own record of every sample too
  };
  // Tries whether the kernel takes the programs; the error says why not and what to do.
  static base::Result<std::unique_ptr<StackProgram>> load(const Settings& settings);
  virtual ~StackProgram() = default;

  // Lets an event (open, not enabled) be sampled by the program, with `identifier` in its records. Events that inherit
  // hand the program on to the events of new threads. `with_address`, `with_period`: the event's sample_type has ADDR,
  // PERIOD; `with_page`: RAW and DATA_PAGE_SIZE, and it counts minor or major faults. A program is loaded for each
  // identifier, so the same event on several CPUs and tasks should have one. The kernel runs such programs on overflows
  // of counters and software events; tracepoints have none and are refused.
  virtual base::Status attach(int event_fd, uint64_t identifier, bool with_address, bool with_period = true,
                              bool with_page = false) = 0;

  // Tables: `rules` are those that the blocks refer to. Returns its number, above 0. The memory is the kernel's. Fails
  // when there is no room. Programs see it from the next set_process on. Mappings that refer to a table are taken back
  // before it is removed.
  virtual base::Result<uint32_t> add_table(std::span<const tephra_frame_block> blocks,
                                           std::span<const tephra_frame_rule> rules) = 0;
  virtual void remove_table(uint32_t table) = 0;

  // The mappings of a process, sorted, from now on, in the place of those it had. Fails when there is no room.
  virtual base::Status set_process(pid_t pid, uint64_t start_stack, uint64_t start_code,
                                   std::span<const tephra_walk_mapping> mappings) = 0;
  virtual void forget_process(pid_t pid) = 0;
  // What was asked for a process was looked for: what is not there by now is not worth waiting for.
  virtual void answered(pid_t pid) = 0;

  // What other programs that walk (bpf/stack_walk.h) share with this one, by the names of the maps.
  struct Maps {
    int tables = -1;
    int table_blocks = -1;
    int rules = -1;
    int mappings = -1;
    int processes = -1;
    int answers = -1;
  };
  virtual Maps maps() const = 0;

  // Readable when records wait: enough of them, or a process that is asked for.
  virtual int fd() const = 0;
  // Hands over what waits: samples, several together where they stand together, and what is asked for.
  virtual void consume(const std::function<void(base::Bytes)>& on_samples,
                       const std::function<void(const tephra_walk_wanted&)>& on_wanted) = 0;

  struct Totals {
    uint64_t walked = 0;
    uint64_t left_to_perf = 0;
    uint64_t lost = 0;       // the ring had no room
    uint64_t asked = 0;      // for processes and pieces of their memory
    uint64_t not_asked = 0;  // because the ring had no room
    uint64_t tables = 0;
    uint64_t table_bytes = 0;
    uint64_t rules = 0;
    uint64_t run_ns = 0;  // in the programs, where the kernel counts it (kernel.bpf_stats_enabled); else 0
    uint64_t runs = 0;    // likewise
    uint64_t verified_instructions = 0;  // what the kernel looked at when it loaded one of them; 0 before Linux 5.16
  };
  virtual Totals totals() const = 0;
};

}  // namespace tephra::kernel
