#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "base/disk_cache.h"
#include "unwind/table_cache.h"

namespace tephra::unwind {

// The call-frame tables of files that processes run: from the disk cache, else compiled. Files are read, not mapped,
// since those who run them may cut them at any moment. Nothing is kept of a file, and a table only as long as somebody
// holds it; files with the same build id and the same call frames share one. For one thread.
class LiveTables {
 public:
  using Table = std::shared_ptr<const FrameTable>;

  // The cache must outlive this.
  explicit LiveTables(const base::DiskCache& cache);

  // The table of an open file; one without rows where there is no call-frame information; null when it is no code
  // object or cannot be read.
  Table of_file(int fd);
  // That of this kernel's vDSO, or null.
  Table of_vdso();

  uint64_t compiled() const { return compiled_; }

 private:
  using Key = std::pair<std::string, uint64_t>;  // build id and hash

  Table make(const objects::ElfFile& elf, int fd);
  CompiledTable compile(const objects::ElfFile& elf);

  TableCache cache_;
  uint64_t seed_;
  std::map<Key, std::weak_ptr<const FrameTable>> known_;
  Table vdso_;
  uint64_t compiled_ = 0;
};

}  // namespace tephra::unwind
