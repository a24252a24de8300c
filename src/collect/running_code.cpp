#include "collect/running_code.h"

#include <memory>

#include "base/disk_cache.h"
#include "collect/code_tables.h"
#include "kernel/procfs.h"
#include "symbols/file_finder.h"
#include "unwind/table_store.h"

namespace tephra::collect {
namespace {

struct Tables {
  symbols::FileFinder files;
  base::DiskCache cache = base::DiskCache::of_user();
  unwind::TableStore store{files, cache};
  CodeTables of_mappings{store};
};

}  // namespace

WalkedProcesses::Sources running_code() {
  auto tables = std::make_shared<Tables>();
  return {read_process_code,
          [tables](pid_t pid, const CodeMapping& mapping) { return tables->of_mappings.find(pid, mapping); },
          kernel::process_exists};
}

}  // namespace tephra::collect
