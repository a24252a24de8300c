#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <tuple>

#include "collect/generated_tables.h"
#include "collect/walked_processes.h"
#include "unwind/live_tables.h"

namespace tephra::collect {

// Finds the call-frame tables of what running processes have mapped. A file is looked at once, however many processes
// map it, as long as its table is used.
class CodeTables {
 public:
  explicit CodeTables(unwind::LiveTables& tables) : tables_(tables) {}

  // `tid`: any thread of the process, since the first shows nothing once it has ended.
  WalkedProcesses::Answer find(pid_t pid, pid_t tid, const CodeMapping& mapping);

 private:
  // Device and inode, and since an inode's number may be used again, when it last changed.
  using FileKey = std::tuple<uint32_t, uint32_t, uint64_t, int64_t, int64_t>;
  struct Known {
    std::weak_ptr<const unwind::FrameTable> table;
    bool no_rows = false;  // there is no table to be made
    bool no_file = false;  // nor could it be looked at
  };

  WalkedProcesses::Answer find_file(pid_t pid, pid_t tid, const CodeMapping& mapping);

  unwind::LiveTables& tables_;
  GeneratedTables generated_;
  std::map<FileKey, Known> files_;
};

}  // namespace tephra::collect
