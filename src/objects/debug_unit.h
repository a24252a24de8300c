#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "objects/loaded_code.h"
#include "objects/range_lists.h"
#include "objects/reading_budget.h"
#include "objects/unit_tables.h"

namespace tephra::objects {

// What the units of a file share. Needed while a unit is read only.
struct UnitSurroundings {
  const LoadedCode& code;  // functions that begin elsewhere are left out
  ReadingBudget& budget;
  base::Bytes line_section;  // .debug_line
};

// Reads one compile unit with libdw and flattens it.
class DebugUnit {
 public:
  // The unit whose root entry is at `root`.
  DebugUnit(Dwarf* dwarf, Dwarf_Off root, const UnitSurroundings& surroundings);

  OwnedUnitTables take() && { return std::move(tables_); }

 private:
  static constexpr uint32_t kNone = UnitTables::kNone;

  // Code of a node, before flattening.
  struct Interval {
    uint64_t begin;
    uint64_t end;
    uint32_t node;
    uint32_t depth;
  };
  // An entry among its siblings, and how many types without a name come before it or are it.
  struct Child {
    Dwarf_Die entry;
    uint32_t unnamed_types;
  };

  void walk(Dwarf_Die entry, uint32_t parent, uint32_t depth);
  void visit(Dwarf_Die& entry, uint32_t parent, uint32_t depth);
  void add_code(Dwarf_Die& entry, uint32_t parent, uint32_t depth);
  void flatten();
  void emit(uint64_t begin, uint32_t node);
  void read_lines();
  bool read_lines_of_loaded_code();
  void add_line(uint64_t address, UnitTables::Place place);
  uint32_t file_name(uint64_t index);
  void join_lines();
  uint32_t add_text(std::string_view text);
  uint32_t add_text_of_file(const char* text);

  uint32_t function_name(Dwarf_Die& function);
  uint32_t read_function_name(Dwarf_Die& function);
  const std::string& function_scope(Dwarf_Die& function);
  std::string qualified_name(Dwarf_Die& function);
  std::string scopes_of(Dwarf_Die& declared);
  const std::string& lambda_parameters(Dwarf_Die& function);
  void add_scope(Dwarf_Die& holder, std::string& scopes);
  const std::vector<Child>& children_of(Dwarf_Die& entry);

  Dwarf* dwarf_;
  Dwarf_Die root_{};
  const LoadedCode& code_;
  ReadingBudget& budget_;
  RangeLists lists_;
  base::Bytes line_section_;
  bool has_scopes_ = true;      // names are qualified: not C
  bool code_in_types_ = false;  // functions with code are inside types, as Rust has them
  Dwarf_Files* files_ = nullptr;
  std::vector<uint32_t> file_names_;  // by index: where in the strings, kNone while not asked for
  std::vector<Interval> intervals_;   // emptied by flatten()
  // By where in memory an entry is: offsets are of one file only, and entries may refer to another.
  std::unordered_map<const void*, uint32_t> names_;
  std::unordered_map<const void*, std::vector<Child>> children_;  // of entries that hold functions
  std::unordered_map<const void*, std::string> function_scopes_;  // demangled
  std::unordered_map<const char*, uint32_t> texts_;               // names as they are in the file
  std::unordered_map<const void*, std::string> lambda_parameters_;
  uint32_t name_depth_ = 0;  // of names that need the names of others
  OwnedUnitTables tables_;
};

// Calls visit(begin, end) for every range of code of an entry that is loaded, as far as the budget goes. Returns
// whether it has ranges, loaded or not.
template <class Visit>
bool for_each_range(Dwarf_Die& entry, const LoadedCode& code, ReadingBudget& budget, RangeLists& lists, Visit visit) {
  if (budget.is_spent() || !budget.take_ranges(1 + lists.bytes_of(entry))) return false;
  Dwarf_Addr base = 0;
  Dwarf_Addr begin = 0;
  Dwarf_Addr end = 0;
  ptrdiff_t at = 0;
  bool any = false;
  while ((at = ::dwarf_ranges(&entry, at, &base, &begin, &end)) > 0) {
    if (begin >= end) continue;
    any = true;
    if (code.may_begin_at(begin)) visit(begin, end);
  }
  return any;
}

}  // namespace tephra::objects
