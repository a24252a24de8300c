#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "objects/debug_info.h"
#include "objects/elf_file.h"

namespace tephra::objects {

// The table of functions, lines and inlined calls that every Go program carries for its own tracebacks (.gopclntab),
// also when it was stripped. Of Go 1.16 and later. Holds views into the bytes of the file. Damaged tables give fewer
// answers, never other harm.
class GoFunctions {
 public:
  struct Function {
    std::string_view name;  // as Go prints it
    uint64_t address = 0;   // as linked, as all addresses here
    uint64_t end = 0;
  };

  // Nothing where the file has no such table. Found by the name of its section, else by how it begins.
  static std::optional<GoFunctions> open(const ElfFile& elf);

  size_t size() const { return count_; }
  std::optional<Function> function_at(uint64_t address) const;
  // Replaces `levels` by the function that holds an address and those inlined there; as DebugInfo::find.
  void find(uint64_t address, std::vector<DebugInfo::Level>& levels) const;

 private:
  // What distinguishes the versions of the table, by the release that brought it.
  enum class Layout { k1_16, k1_18, k1_20 };
  // The description of one function.
  struct Entry {
    uint64_t address = 0;
    uint64_t end = 0;
    std::string_view name;
    uint64_t file_table = 0;  // where in pc_tables_
    uint64_t line_table = 0;
    uint64_t inline_table = 0;  // 0: nothing is inlined into it
    uint64_t first_file = 0;    // the place of its unit in unit_files_
    base::Bytes inlined;        // its tree of inlined calls
  };
  // One call in that tree.
  struct Call {
    std::string_view name;
    int64_t parent = -1;  // before 1.20: the call that this one is in, and where
    int64_t file = -1;
    int64_t line = 0;
    uint64_t parent_offset = 0;  // since 1.20: an instruction at the place of the call
  };

  GoFunctions() = default;
  bool read_header(const ElfFile& elf, base::Bytes table, uint64_t table_address);
  void find_call_trees(const ElfFile& elf, uint64_t table_address);
  std::optional<uint64_t> word_at(const ElfFile& elf, uint64_t address);
  // The value that a place gets when the program is loaded at the address it was linked to.
  struct Relocation {
    uint64_t place;
    uint64_t value;
  };
  const std::vector<Relocation>& relocations(const ElfFile& elf);

  uint64_t entry_address(uint64_t index) const;
  std::optional<Entry> entry_at(uint64_t address) const;
  std::optional<Entry> read_entry(uint64_t index) const;
  base::Bytes inline_tree(base::Bytes function, uint64_t fields_end, uint32_t pc_data_count, uint32_t data_count) const;
  std::optional<Call> call_at(const Entry& entry, int64_t index) const;
  std::optional<int64_t> value_at(const Entry& entry, uint64_t table, uint64_t address) const;
  std::string_view name_at(uint64_t offset) const;
  std::string_view file_at(const Entry& entry, std::optional<int64_t> index) const;
  DebugInfo::Level level_at(const Entry& entry, uint64_t address) const;
  void find_by_parent_index(const Entry& entry, uint64_t address, std::vector<DebugInfo::Level>& levels) const;
  void find_by_parent_place(const Entry& entry, uint64_t address, std::vector<DebugInfo::Level>& levels) const;

  std::optional<std::vector<Relocation>> relocations_;  // while the header is read
  const ElfFile* elf_ = nullptr;
  Layout layout_ = Layout::k1_20;
  unsigned quantum_ = 1;
  unsigned pointer_size_ = 8;
  uint64_t count_ = 0;
  uint64_t text_start_ = 0;
  uint64_t call_trees_ = 0;  // the address that offsets of trees count from; 0: unknown
  base::Bytes names_;
  base::Bytes unit_files_;
  base::Bytes files_;
  base::Bytes pc_tables_;
  base::Bytes functions_;  // the sorted index, and the descriptions behind it
};

}  // namespace tephra::objects
