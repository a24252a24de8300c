#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>

#include "base/file.h"
#include "collect/process_code.h"
#include "unwind/frame_table.h"

namespace tephra::collect {

// The tables of code that processes have made at run time and that is known by its bytes. What was seen at a mapping is
// remembered, since a process may have tens of thousands and one of them changes all the time. For one thread.
class GeneratedTables {
 public:
  // Null: frame pointers are all there is. Mappings of a process are to be asked for in the order of their addresses.
  // `tid`: any thread of it.
  const unwind::FrameTable* find(pid_t pid, pid_t tid, const CodeMapping& mapping);

  uint64_t looks() const { return looks_; }

 private:
  struct Seen {
    uint64_t end = 0;
    const unwind::FrameTable* table = nullptr;
    unsigned looks = 0;
  };
  struct Process {
    ProcessCode marks;  // of the program that it ran; without mappings
    std::map<uint64_t, Seen> seen;
    uint64_t last_asked = 0;
  };

  Process& enter(pid_t pid, pid_t tid, uint64_t address);
  const unwind::FrameTable* look(const CodeMapping& mapping);

  std::map<pid_t, Process> processes_;
  size_t remembered_ = 0;  // mappings of all of them
  // Of the process that was asked for last.
  pid_t last_ = 0;
  base::FileDescriptor memory_;
  uint64_t looks_ = 0;
};

}  // namespace tephra::collect
