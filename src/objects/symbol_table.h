#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "objects/elf_file.h"

namespace tephra::objects {

// The functions of an ELF file by address (as linked, not file offsets), from .symtab and .dynsym, and one entry for
// each stub of the procedure linkage table. Names point into the bytes of the files that were added, which must outlive
// the table. Where several symbols begin at one address, the one that perf would show is found.
class SymbolTable {
 public:
  enum class Holds : uint8_t { kFunctions, kData };
  // kData: objects of data with a size, in place of functions; what is said of functions then holds for them.
  explicit SymbolTable(Holds holds = Holds::kFunctions) : holds_(holds) {}

  struct Function {
    std::string_view name;  // as in the file: mangled
    uint64_t address = 0;
    uint64_t end = 0;
  };

  // The functions of `elf`. Call for the file that ran and for its debug file, then finish().
  void add(const ElfFile& elf);
  // Names the stubs that jump through the global offset table, "memcpy@plt". Of the file that ran.
  void add_plt(const ElfFile& elf);
  // Puts the table in order. Must be called once, after the last add and before the first find.
  void finish();

  std::optional<Function> find(uint64_t address) const;
  size_t size() const { return rows_.size(); }

 private:
  struct Row {
    uint64_t address;
    const char* name;  // ends with NUL
    uint32_t size;     // 0: up to the next symbol
    uint8_t binding;
  };

  void add_section(const ElfFile& elf, const ElfFile::Section& symbols);
  size_t best_of(size_t first, size_t last) const;
  uint64_t end_of(size_t row) const;

  Holds holds_;
  std::vector<Row> rows_;
  std::vector<uint64_t> reach_;  // the largest end among a row and all before it, to find enclosing symbols
  std::deque<std::string> made_names_;
};

}  // namespace tephra::objects
