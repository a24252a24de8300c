#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "abi/stack_walk.h"
#include "abi/taken_stack.h"
#include "base/bytes.h"
#include "kernel/stack_program.h"

namespace tephra::kernel {

// What programs in the kernel have in common that watch tasks and take their stacks (bpf/watched_tasks.h,
// bpf/taken_stacks.h).

// Who is watched: all that is listed, or one of the others.
struct Whom {
  std::vector<pid_t> processes;
  std::vector<pid_t> threads;
  bool inherit = true;  // what these start, too
  bool everything = false;
  std::vector<std::string> cgroup_folders;
  std::optional<uid_t> user;
};

enum class UserStacks { kNone, kFramePointers, kWalked };

struct WatchSettings {
  Whom whom;
  UserStacks stacks = UserStacks::kFramePointers;
  std::optional<StackProgram::Maps> walk_maps;  // with kWalked; without them it becomes kFramePointers
  bool kernel_stacks = true;
  uint32_t max_frames = 512;  // of walks; frame pointers are followed no further than the kernel's limit
  uint32_t max_kernel_frames = 127;
  uint64_t ring_bytes = 4 << 20;  // a power of two
};

// A stack that sums and records refer to by its hash.
struct TakenStack {
  const tephra_taken_stack& head;
  base::Bytes chain;      // words: addresses as perf writes them
  base::Bytes registers;  // as the kernel has them; empty without a copy
  base::Bytes copy;       // of the user stack, from the stack pointer on
};

// Whom such programs tell of stacks. They come before the sums that refer to them, as far as there was room for them.
class StackListener {
 public:
  virtual ~StackListener() = default;
  virtual void hear(const TakenStack& stack) = 0;
  // A process whose stacks cannot be walked yet.
  virtual void hear(const tephra_walk_wanted& wanted) = 0;
};

// Hands over a record if it is of a stack; false: it is of something else.
bool hear_stack(base::Bytes record, StackListener& listener);

}  // namespace tephra::kernel
