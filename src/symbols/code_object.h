#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/file.h"
#include "model/profile.h"
#include "objects/call_frames.h"
#include "objects/debug_info.h"
#include "objects/elf_file.h"
#include "objects/entry_points.h"
#include "objects/symbol_table.h"

namespace tephra::symbols {

// A code object that was opened to name its addresses: the file that ran, its debug file where there is one, and their
// symbols. One thread at a time.
class CodeObject {
 public:
  // Opens the file at `path` if it is the one that ran: the one with `build_id`, or where that is empty, one that is
  // not plainly another file than `identity`. Null when it is not; `why_not` then says why.
  static std::unique_ptr<CodeObject> open(const std::string& path, const model::BuildId& build_id,
                                          const model::FileIdentity& identity, model::Reason& why_not);
  // The same for a file that is open already; `path` is for finding its debug file.
  static std::unique_ptr<CodeObject> read(base::FileContent content, const std::string& path,
                                          const model::BuildId& build_id, model::Reason& why_not);
  // A code object in memory, which must outlive it: the vDSO. Null when it has another build id.
  static std::unique_ptr<CodeObject> view(base::Bytes image, const model::BuildId& build_id, model::Reason& why_not);

  const objects::ElfFile& elf() const { return elf_; }
  std::optional<objects::SymbolTable::Function> function_at(uint64_t address) const { return symbols_.find(address); }

  // Whether the function that begins there begins a program or a thread, as far as that shows without its name.
  bool is_entry(uint64_t function_start) const { return entry_points_ && entry_points_->contains(function_start); }

  // The source line of an address and the functions inlined there; see DebugInfo::find.
  void find_source(uint64_t address, std::vector<objects::DebugInfo::Level>& levels);
  // What call-frame information tells about an address as linked.
  std::optional<objects::CallFrames::Facts> frame_facts(uint64_t address) const {
    return call_frames_ ? call_frames_->find(address) : std::nullopt;
  }

 private:
  CodeObject() = default;
  static std::unique_ptr<CodeObject> parse(base::Bytes image, const model::BuildId& build_id, model::Reason& why_not);
  void add_debug_file(const std::string& path);
  void add_symbols();
  base::Bytes debug_image() const;

  base::Bytes image_;
  std::optional<base::FileContent> file_;
  std::optional<base::FileContent> debug_file_;
  objects::ElfFile elf_;
  std::optional<objects::ElfFile> debug_elf_;
  objects::SymbolTable symbols_;
  std::optional<objects::EntryPoints> entry_points_;
  std::optional<objects::CallFrames> call_frames_;
  bool debug_info_opened_ = false;
  std::unique_ptr<objects::DebugInfo> debug_info_;
};

}  // namespace tephra::symbols
