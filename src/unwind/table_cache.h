#pragma once

#include <optional>
#include <string>

#include "base/disk_cache.h"
#include "objects/elf_file.h"
#include "unwind/compiled_table.h"

namespace tephra::unwind {

// Compiled tables on disk, by build id.
class TableCache {
 public:
  // The cache must outlive this.
  explicit TableCache(const base::DiskCache& cache) : cache_(cache) {}

  // The key of a build id, however records have padded it; empty where it does not identify a file.
  static std::string key_of(base::Bytes build_id);

  // The table of a file, if it was made from such a file.
  std::optional<CompiledTable> find(const objects::ElfFile& elf) const;
  // The table of a file that is not at hand.
  std::optional<CompiledTable> find_unseen(base::Bytes build_id) const;

  // Keeps a table for later; whether it is there now. Only of files that this user or root have written, because
  // anybody can give his file any build id.
  bool store(const objects::ElfFile& elf, const CompiledTable& table) const;

 private:
  const base::DiskCache& cache_;
};

}  // namespace tephra::unwind
