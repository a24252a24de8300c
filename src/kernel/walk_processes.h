#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <unordered_map>

#include "abi/stack_walk.h"
#include "base/result.h"
#include "kernel/bpf_memory.h"
#include "kernel/range_pool.h"

namespace tephra::kernel {

// The mappings of processes that programs in the kernel look up (bpf/stack_walk.h): ranges of one pool, and where the
// range of each process is. A change is written to a new range, which then takes the place of the old one.
class WalkProcesses {
 public:
  struct Maps {
    int processes = -1;
    int mappings = -1;
  };
  static base::Result<WalkProcesses> open(const Maps& maps, uint32_t max_mappings);

  // Both as in StackProgram.
  base::Status set(pid_t pid, uint64_t start_stack, uint64_t start_code, std::span<const tephra_walk_mapping> mappings);
  void forget(pid_t pid);

 private:
  explicit WalkProcesses(uint32_t max_mappings);

  struct Range {
    uint32_t first = 0;
    uint32_t count = 0;
  };
  Maps maps_;
  BpfMemory memory_;
  RangePool pool_;
  std::unordered_map<pid_t, Range> ranges_;
};

}  // namespace tephra::kernel
