#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/file.h"
#include "model/profile.h"
#include "objects/elf_file.h"
#include "objects/symbol_table.h"

namespace tephra::symbols {

// A code object that was opened to name its addresses: the file that ran, its debug file where there is one, and their
// symbols. One thread at a time.
class CodeObject {
 public:
  // Opens the file at `path` if it is the one with `build_id` (empty: unknown, any). Null when it is not; `why_not`
  // then says why.
  static std::unique_ptr<CodeObject> open(const std::string& path, const model::BuildId& build_id,
                                          model::Reason& why_not);
  // A code object in memory, which must outlive it: the vDSO. Null as above.
  static std::unique_ptr<CodeObject> view(base::Bytes image, const model::BuildId& build_id, model::Reason& why_not);

  const objects::ElfFile& elf() const { return elf_; }
  std::optional<objects::SymbolTable::Function> function_at(uint64_t address) const { return symbols_.find(address); }

 private:
  CodeObject() = default;
  static std::unique_ptr<CodeObject> parse(base::Bytes image, const model::BuildId& build_id, model::Reason& why_not);
  void add_debug_file(const std::string& path);
  void add_symbols();

  std::optional<base::FileContent> file_;
  std::optional<base::FileContent> debug_file_;
  objects::ElfFile elf_;
  std::optional<objects::ElfFile> debug_elf_;
  objects::SymbolTable symbols_;
};

}  // namespace tephra::symbols
