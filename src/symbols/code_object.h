#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/file.h"
#include "model/profile.h"
#include "objects/call_frames.h"
#include "objects/debug_info.h"
#include "objects/elf_file.h"
#include "objects/entry_points.h"
#include "objects/go_functions.h"
#include "objects/symbol_table.h"
#include "symbols/debug_parts.h"
#include "symbols/file_finder.h"
#include "symbols/source_cache.h"

namespace tephra::symbols {

// A code object that was opened to name its addresses: the file that ran, its debug file where there is one, and their
// symbols. One thread at a time.
class CodeObject {
 public:
  // Opens the file that ran, as far as `finder`, which must outlive it, finds it. Null when it does not; `why_not` then
  // says why.
  static std::unique_ptr<CodeObject> open(FileFinder& finder, const WantedFile& wanted, model::Reason& why_not);
  // A code object in memory, which must outlive it: the vDSO. Null when it has another build id.
  static std::unique_ptr<CodeObject> view(base::Bytes image, const model::BuildId& build_id, model::Reason& why_not);

  // Whether the file was held open since it ran, which proves that it is the one.
  bool was_kept() const { return file_.kept; }
  const objects::ElfFile& elf() const { return elf_; }
  std::optional<objects::SymbolTable::Function> function_at(uint64_t address) const;

  // The variable at a place that model::is_data_address tells of, where it lies in what the file can be written at.
  struct Variable {
    std::string_view name;
    uint64_t offset = 0;  // of the place in it
  };
  std::optional<Variable> variable_at(uint64_t data_address);

  // Whether the function that begins there begins a program or a thread, as far as that shows without its name.
  bool is_entry(uint64_t function_start) const { return entry_points_ && entry_points_->contains(function_start); }

  // Keeps what is read of the debug information in `cache`. To be called before the first question for sources.
  void keep_sources_in(const base::DiskCache& cache) { cache_ = cache; }
  // Reads what find_source will need for these addresses, by several threads.
  void prepare_sources(std::span<const uint64_t> addresses);
  // Stores what was read and is not in the cache yet, and tells the finder what was left out. After the last question.
  void store_sources() const;
  // The source line of an address and the functions inlined there; see DebugInfo::find.
  void find_source(uint64_t address, std::vector<objects::DebugInfo::Level>& levels);
  // What call-frame information tells about an address as linked.
  std::optional<objects::CallFrames::Facts> frame_facts(uint64_t address) const {
    return call_frames_ ? call_frames_->find(address) : std::nullopt;
  }

 private:
  CodeObject() = default;
  static std::unique_ptr<CodeObject> parse(base::Bytes image, const model::BuildId& build_id, model::Reason& why_not);
  void add_debug_file(const WantedFile& wanted);
  void add_embedded_symbols();
  void add_symbols();
  void open_debug_info();
  std::optional<uint64_t> linked_data_address(uint64_t data_address) const;

  FileFinder* finder_ = nullptr;  // null: look nowhere else
  base::Bytes image_;
  FileFinder::Found file_;
  FileFinder::Found debug_file_;
  std::string embedded_;  // the ELF file in .gnu_debugdata, unpacked
  std::optional<objects::ElfFile> embedded_elf_;
  objects::ElfFile elf_;
  std::optional<objects::ElfFile> debug_elf_;
  objects::SymbolTable symbols_;
  std::optional<objects::SymbolTable> variables_;  // read when one is asked for
  std::optional<objects::GoFunctions> go_;
  std::optional<objects::EntryPoints> entry_points_;
  std::optional<objects::CallFrames> call_frames_;
  base::DiskCache cache_{""};
  bool debug_info_opened_ = false;
  std::optional<DebugParts> debug_parts_;    // outlives debug_info_
  std::optional<SourceCache> source_cache_;  // outlives debug_info_
  std::unique_ptr<objects::DebugInfo> debug_info_;
};

}  // namespace tephra::symbols
