#pragma once

#include <cstdint>
#include <memory>

#include "base/disk_cache.h"
#include "model/profile.h"
#include "symbols/file_finder.h"
#include "unwind/frame_table.h"

namespace tephra::unwind {

// The call-frame tables of code objects: from memory, from the disk cache by build id, else compiled from the file and
// put there. Threads may share it; a table is made once. Tables live as long as the store.
class TableStore {
 public:
  // Both must outlive the store.
  TableStore(symbols::FileFinder& files, const base::DiskCache& cache);
  ~TableStore();

  // The table of a file; one without rows where the file has no call-frame information; null when the file that ran is
  // not at hand.
  const FrameTable* find(const symbols::WantedFile& file);
  // The table of the vDSO with this build id (empty: of this kernel); null when it is another's.
  const FrameTable* find_vdso(const model::BuildId& build_id);

  struct Totals {
    uint64_t tables = 0;
    uint64_t rows = 0;
    uint64_t compiled = 0;  // not found in the cache
    double compile_seconds = 0;
  };
  Totals totals() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tephra::unwind
