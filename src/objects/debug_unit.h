#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "objects/debug_info.h"

namespace tephra::objects {

// One compile unit of DebugInfo, flattened. Names are looked up only for the functions that were found.
class DebugUnit {
 public:
  // Flattens the unit whose root entry is at `root`.
  DebugUnit(Dwarf* dwarf, Dwarf_Off root);

  void find(uint64_t address, std::vector<DebugInfo::Level>& levels);
  // Where the functions of the unit are.
  std::vector<std::pair<uint64_t, uint64_t>> code_ranges() const;

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  // A function, or a call that was inlined into its parent.
  struct Node {
    Dwarf_Off entry = 0;  // that describes the function
    uint32_t parent = kNone;
    uint32_t call_file = 0;
    uint32_t call_line = 0;
  };
  // Code of a node, before flattening.
  struct Interval {
    uint64_t begin;
    uint64_t end;
    uint32_t node;
    uint32_t depth;
  };
  // From `begin` to the next segment the innermost function is `node`.
  struct Segment {
    uint64_t begin;
    uint32_t node;
  };
  struct LineRow {
    uint64_t address;
    uint32_t file;  // kNone: the end of a run of code
    uint32_t line;
  };

  void walk(Dwarf_Die entry, uint32_t parent, uint32_t depth);
  void visit(Dwarf_Die& entry, uint32_t parent, uint32_t depth);
  void add_code(Dwarf_Die& entry, uint32_t parent, uint32_t depth);
  void flatten();
  void emit(uint64_t begin, uint32_t node);
  void read_lines(Dwarf_Die& root);
  const LineRow* line_at(uint64_t address) const;
  std::string_view file_name(uint32_t index) const;
  std::string_view function_name(Dwarf_Off entry);
  std::string qualified_name(Dwarf_Die& function);
  void add_scope(Dwarf_Die& holder, std::string& scopes);

  Dwarf* dwarf_;
  Dwarf_Off root_;
  bool has_scopes_ = true;      // names are qualified: not C
  bool code_in_types_ = false;  // functions with code are inside types, as Rust has them
  Dwarf_Files* files_ = nullptr;
  size_t file_count_ = 0;
  std::vector<Node> nodes_;
  std::vector<Interval> intervals_;  // emptied by flatten()
  std::vector<Segment> segments_;
  std::vector<LineRow> lines_;
  std::unordered_map<Dwarf_Off, std::string_view> names_;
  std::deque<std::string> made_names_;
};

// Calls visit(begin, end) for every non-empty range of code of an entry.
template <class Visit>
void for_each_range(Dwarf_Die& entry, Visit visit) {
  Dwarf_Addr base = 0;
  Dwarf_Addr begin = 0;
  Dwarf_Addr end = 0;
  ptrdiff_t at = 0;
  // A hostile list could go on for the size of its section; no real one is near this.
  for (int i = 0; i < 1 << 20 && (at = ::dwarf_ranges(&entry, at, &base, &begin, &end)) > 0; ++i) {
    if (begin < end) visit(begin, end);
  }
}

}  // namespace tephra::objects
