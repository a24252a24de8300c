#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <tuple>

#include "collect/walked_processes.h"
#include "unwind/table_store.h"

namespace tephra::collect {

// Finds the call-frame tables of what running processes have mapped. A file is looked at once, however many processes
// map it.
class CodeTables {
 public:
  explicit CodeTables(unwind::TableStore& store) : store_(store) {}

  WalkedProcesses::Answer find(pid_t pid, const CodeMapping& mapping);

 private:
  // Device and inode, and since an inode's number may be used again, when it last changed.
  using FileKey = std::tuple<uint32_t, uint32_t, uint64_t, int64_t, int64_t>;

  WalkedProcesses::Answer find_file(pid_t pid, const CodeMapping& mapping);

  unwind::TableStore& store_;
  std::map<FileKey, WalkedProcesses::Answer> files_;
};

}  // namespace tephra::collect
