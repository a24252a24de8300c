#pragma once

#include <cstdint>
#include <vector>

#include "objects/call_frames.h"
#include "objects/elf_file.h"

namespace tephra::objects {

// Functions that begin a program or a thread, found without their names, since C libraries are mostly stripped of
// those: what __libc_start_main calls directly (the function that calls main), and the functions whose address
// pthread_create and std::thread pass on as the start of a thread. A stack whose outermost frame is one of them is
// whole. x86-64 only; elsewhere there are none. Addresses are as linked.
class EntryPoints {
 public:
  // Both are needed only while it is made.
  EntryPoints(const ElfFile& elf, const CallFrames& frames);

  // `function_start` is where call-frame information says a function begins.
  bool contains(uint64_t function_start) const;

 private:
  std::vector<uint64_t> starts_;  // sorted
};

}  // namespace tephra::objects
