#pragma once

#include <optional>
#include <string>

#include "objects/elf_file.h"
#include "objects/symbol_table.h"
#include "symbols/file_finder.h"

namespace tephra::symbols {

// The file a recorded kernel was made as (vmlinux), found by its build id: names for a kernel that does not run any
// more, or whose symbols are hidden.
class KernelImage {
 public:
  // Nothing when no file of this build id is found. `release` tells where distributions put it.
  static std::optional<KernelImage> find(FileFinder& finder, const model::BuildId& build_id,
                                         const std::string& release);

  // The function at a distance from _text; its addresses are distances, too.
  std::optional<objects::SymbolTable::Function> function_at(uint64_t distance) const;

 private:
  FileFinder::Found file_;
  uint64_t text_ = 0;
  objects::SymbolTable symbols_;
};

}  // namespace tephra::symbols
