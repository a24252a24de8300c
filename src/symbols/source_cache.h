#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/disk_cache.h"
#include "objects/elf_file.h"

namespace tephra::symbols {

// Where the index of one file's debug information (DebugIndex) is kept on disk between runs. It belongs to the build id
// of the code and to the very debug information it was made from: once a debug package is installed, another file is
// found under --symfs, or one is stripped, the index made of the other is not used. Files without a build id are not
// kept.
class SourceCache {
 public:
  // All indexes of a user together take no more than this on disk; those not used for longest are deleted first.
  static constexpr uint64_t kLimit = uint64_t{2} << 30;

  // `with_debug_info` holds the debug information of `code`; it may be the same file. `others` are files that it refers
  // to. `may_store`: all of them were written by somebody whom this user trusts; others are read anew each time, since
  // they can be made to look like any file.
  SourceCache(base::DiskCache cache, const objects::ElfFile& code, const objects::ElfFile& with_debug_info,
              const std::vector<const objects::ElfFile*>& others, bool may_store);

  // What was stored; empty when there is nothing. Valid as long as the object lives and has not stored anything.
  base::Bytes stored();
  void store(base::Bytes index) const;

 private:
  base::DiskCache cache_;
  std::string key_;  // empty: nothing is kept
  bool may_store_;
  std::optional<base::DiskCache::Entry> entry_;
};

}  // namespace tephra::symbols
