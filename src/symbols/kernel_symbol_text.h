#pragma once

#include <string>

#include "base/disk_cache.h"
#include "objects/kallsyms.h"

namespace tephra::symbols {

// The text that the running kernel lists its symbols in. It takes the kernel far longer to write than us to read, and
// what it says of the kernel image's own code holds until the next boot: that much is kept in `cache`. Modules and
// generated code come and go, so wherever they are asked for the kernel is.
class KernelSymbolText {
 public:
  // `boot_id` is a file that holds another line after each boot; without it nothing is kept.
  KernelSymbolText(std::string path, const std::string& boot_id, base::DiskCache cache);

  // Feeds and finishes `symbols`.
  void read_into(objects::Kallsyms& symbols) const;

 private:
  bool feed_kept(objects::Kallsyms& symbols) const;
  void feed_listed(objects::Kallsyms& symbols) const;

  std::string path_;
  std::string key_;  // empty: nothing is kept
  base::DiskCache cache_;
};

}  // namespace tephra::symbols
