#include "collect/running_code.h"

#include <memory>

#include "base/disk_cache.h"
#include "collect/code_tables.h"
#include "kernel/procfs.h"
#include "unwind/live_tables.h"

namespace tephra::collect {
namespace {

struct Tables {
  base::DiskCache cache = base::DiskCache::of_user();
  unwind::LiveTables of_files{cache};
  CodeTables of_mappings{of_files};
};

}  // namespace

WalkedProcesses::Sources running_code() {
  auto tables = std::make_shared<Tables>();
  return {read_process_code,
          [tables](pid_t pid, pid_t tid, const CodeMapping& mapping) {
            return tables->of_mappings.find(pid, tid, mapping);
          },
          kernel::process_exists};
}

}  // namespace tephra::collect
