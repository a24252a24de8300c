#include "objects/debug_unit.h"

#include <dwarf.h>

#include <algorithm>
#include <string>

#include "objects/demangle.h"

namespace tephra::objects {
namespace {

// Deeper than any compiler nests; bounds the recursion on hostile input.
constexpr uint32_t kDeepest = 256;

bool is_c(int language) {
  switch (language) {
    case DW_LANG_C89:
    case DW_LANG_C:
    case DW_LANG_C99:
    case DW_LANG_C11:
    case DW_LANG_Mips_Assembler:
      return true;
    default:
      return false;
  }
}

bool is_cxx(int language) {
  return language == DW_LANG_C_plus_plus || language == DW_LANG_C_plus_plus_03 || language == DW_LANG_C_plus_plus_11 ||
         language == DW_LANG_C_plus_plus_14;
}

// The attributes of a function or an inlined call that matter here, read in one pass over the entry.
struct CodeAttributes {
  Dwarf_Attribute origin{};
  bool has_origin = false;
  bool has_code = false;
  uint32_t call_file = 0;
  uint32_t call_line = 0;
};

uint32_t small_number(Dwarf_Attribute* attribute) {
  Dwarf_Word value = 0;
  return ::dwarf_formudata(attribute, &value) == 0 && value <= UINT32_MAX ? static_cast<uint32_t>(value) : 0;
}

int collect(Dwarf_Attribute* attribute, void* opaque) {
  auto* found = static_cast<CodeAttributes*>(opaque);
  switch (::dwarf_whatattr(attribute)) {
    case DW_AT_abstract_origin:
      found->origin = *attribute;
      found->has_origin = true;
      break;
    case DW_AT_low_pc:
    case DW_AT_ranges:
      found->has_code = true;
      break;
    case DW_AT_call_file:
      found->call_file = small_number(attribute);
      break;
    case DW_AT_call_line:
      found->call_line = small_number(attribute);
      break;
    default:
      break;
  }
  return DWARF_CB_OK;
}

// Whether a function has parameters that its source names, not only the object it is called on.
bool takes_parameters(Dwarf_Die function) {
  Dwarf_Die child;
  if (::dwarf_child(&function, &child) != 0) return false;
  do {
    const bool hidden = ::dwarf_hasattr(&child, DW_AT_artificial) != 0;
    if (::dwarf_tag(&child) == DW_TAG_formal_parameter && !hidden) return true;
  } while (::dwarf_siblingof(&child, &child) == 0);
  return false;
}

bool is_unnamed_type(Dwarf_Die& entry) {
  const int tag = ::dwarf_tag(&entry);
  return (tag == DW_TAG_structure_type || tag == DW_TAG_class_type) && ::dwarf_diename(&entry) == nullptr;
}

}  // namespace

DebugUnit::DebugUnit(Dwarf* dwarf, Dwarf_Off root_offset) : dwarf_(dwarf), root_(root_offset) {
  Dwarf_Die root;
  if (::dwarf_offdie(dwarf, root_offset, &root) == nullptr) return;
  const int language = ::dwarf_srclang(&root);
  has_scopes_ = !is_c(language);
  code_in_types_ = has_scopes_ && !is_cxx(language);
  walk(root, kNone, 0);
  flatten();
  read_lines(root);
}

// Visits the children of `entry`.
void DebugUnit::walk(Dwarf_Die entry, uint32_t parent, uint32_t depth) {
  Dwarf_Die child;
  if (depth > kDeepest || ::dwarf_child(&entry, &child) != 0) return;
  do {
    visit(child, parent, depth);
  } while (::dwarf_siblingof(&child, &child) == 0);
}

void DebugUnit::visit(Dwarf_Die& entry, uint32_t parent, uint32_t depth) {
  switch (::dwarf_tag(&entry)) {
    case DW_TAG_subprogram:
      return add_code(entry, kNone, depth);
    case DW_TAG_inlined_subroutine:
      return add_code(entry, parent, depth);
    case DW_TAG_lexical_block:
    case DW_TAG_try_block:
    case DW_TAG_catch_block:
    case DW_TAG_namespace:
    case DW_TAG_module:
      return walk(entry, parent, depth + 1);
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
    case DW_TAG_union_type:
    case DW_TAG_enumeration_type:
      if (code_in_types_) walk(entry, parent, depth + 1);
      return;
    default:
      return;
  }
}

void DebugUnit::add_code(Dwarf_Die& entry, uint32_t parent, uint32_t depth) {
  CodeAttributes attributes;
  ::dwarf_getattrs(&entry, collect, &attributes, 0);
  // Abstract functions and declarations have no code, and neither has anything in them.
  if (!attributes.has_code) return;
  Node node{::dwarf_dieoffset(&entry), parent, attributes.call_file, attributes.call_line};
  Dwarf_Die origin;
  // All inlined calls of a function share its abstract entry, and thus its name.
  const bool inlined = ::dwarf_tag(&entry) == DW_TAG_inlined_subroutine;
  if (inlined && attributes.has_origin && ::dwarf_formref_die(&attributes.origin, &origin) != nullptr) {
    node.entry = ::dwarf_dieoffset(&origin);
  }
  const auto index = static_cast<uint32_t>(nodes_.size());
  nodes_.push_back(node);
  for_each_range(entry, [&](uint64_t begin, uint64_t end) { intervals_.push_back({begin, end, index, depth}); });
  walk(entry, index, depth + 1);
}

void DebugUnit::emit(uint64_t begin, uint32_t node) {
  if (!segments_.empty() && segments_.back().begin == begin) {
    segments_.back().node = node;
  } else if (segments_.empty() || segments_.back().node != node) {
    segments_.push_back({begin, node});
  }
}

// Intervals nest as the entries do. A sweep over their begins, with the open ones on a stack, yields the innermost
// function everywhere. An interval that reaches beyond its parent, which no compiler writes, is cut there.
void DebugUnit::flatten() {
  std::sort(intervals_.begin(), intervals_.end(), [](const Interval& a, const Interval& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.depth < b.depth;
  });
  std::vector<Interval> open;
  const auto close_until = [&](uint64_t address) {
    while (!open.empty() && open.back().end <= address) {
      const uint64_t end = open.back().end;
      open.pop_back();
      emit(end, open.empty() ? kNone : open.back().node);
    }
  };
  for (Interval interval : intervals_) {
    close_until(interval.begin);
    if (!open.empty()) interval.end = std::min(interval.end, open.back().end);
    emit(interval.begin, interval.node);
    open.push_back(interval);
  }
  close_until(UINT64_MAX);
  intervals_ = {};
  segments_.shrink_to_fit();
}

std::vector<std::pair<uint64_t, uint64_t>> DebugUnit::code_ranges() const {
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  for (size_t i = 0; i + 1 < segments_.size(); ++i) {
    if (segments_[i].node == kNone) continue;
    const uint64_t begin = segments_[i].begin;
    if (!ranges.empty() && ranges.back().second == begin) {
      ranges.back().second = segments_[i + 1].begin;
    } else {
      ranges.emplace_back(begin, segments_[i + 1].begin);
    }
  }
  return ranges;
}

void DebugUnit::read_lines(Dwarf_Die& root) {
  if (::dwarf_getsrcfiles(&root, &files_, &file_count_) != 0) file_count_ = 0;
  Dwarf_Lines* table = nullptr;
  size_t count = 0;
  if (::dwarf_getsrclines(&root, &table, &count) != 0) return;
  lines_.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    Dwarf_Line* line = ::dwarf_onesrcline(table, i);
    Dwarf_Addr address = 0;
    int number = 0;
    bool end = false;
    size_t file = 0;
    Dwarf_Files* files = nullptr;
    if (::dwarf_lineaddr(line, &address) != 0 || ::dwarf_lineendsequence(line, &end) != 0) continue;
    if (::dwarf_lineno(line, &number) != 0 || ::dwarf_line_file(line, &files, &file) != 0) continue;
    const LineRow row{address, end ? kNone : static_cast<uint32_t>(file), static_cast<uint32_t>(number)};
    // Of several rows at one address the last one counts.
    if (!lines_.empty() && lines_.back().address == address) {
      if (!end) lines_.back() = row;
    } else {
      lines_.push_back(row);
    }
  }
}

const DebugUnit::LineRow* DebugUnit::line_at(uint64_t address) const {
  const auto after = std::upper_bound(lines_.begin(), lines_.end(), address,
                                      [](uint64_t wanted, const LineRow& row) { return wanted < row.address; });
  if (after == lines_.begin() || (after - 1)->file == kNone) return nullptr;
  return &*(after - 1);
}

std::string_view DebugUnit::file_name(uint32_t index) const {
  if (index >= file_count_) return {};
  const char* name = ::dwarf_filesrc(files_, index, nullptr, nullptr);
  return name == nullptr ? std::string_view() : std::string_view(name);
}

void DebugUnit::find(uint64_t address, std::vector<DebugInfo::Level>& levels) {
  const auto after = std::upper_bound(segments_.begin(), segments_.end(), address,
                                      [](uint64_t wanted, const Segment& segment) { return wanted < segment.begin; });
  uint32_t node = after == segments_.begin() ? kNone : (after - 1)->node;
  const LineRow* row = line_at(address);
  if (node == kNone && row == nullptr) return;
  DebugInfo::Level level;
  if (row != nullptr) {
    level.file = file_name(row->file);
    level.line = row->line;
  }
  if (node == kNone) levels.push_back(level);
  // From the innermost outwards: each function is at the line where the next inner one was called.
  for (; node != kNone; node = nodes_[node].parent) {
    level.function = function_name(nodes_[node].entry);
    levels.push_back(level);
    level.file = file_name(nodes_[node].call_file);
    level.line = nodes_[node].call_line;
  }
  std::reverse(levels.begin(), levels.end());
}

std::string_view DebugUnit::function_name(Dwarf_Off entry) {
  const auto [at, fresh] = names_.try_emplace(entry);
  if (!fresh) return at->second;
  Dwarf_Die function;
  if (::dwarf_offdie(dwarf_, entry, &function) == nullptr) return {};
  Dwarf_Attribute attribute;
  const char* name = nullptr;
  for (const unsigned kind : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name}) {
    if (name == nullptr && ::dwarf_attr_integrate(&function, kind, &attribute) != nullptr) {
      name = ::dwarf_formstring(&attribute);
    }
  }
  if (name != nullptr) {
    at->second = name;
  } else {
    made_names_.push_back(qualified_name(function));
    at->second = made_names_.back();
  }
  return at->second;
}

// Adds what a scope puts before a name. A function's own name has all the scopes around it.
void DebugUnit::add_scope(Dwarf_Die& holder, std::string& scopes) {
  const int tag = ::dwarf_tag(&holder);
  const char* name = ::dwarf_diename(&holder);
  if (tag == DW_TAG_subprogram) {
    scopes = demangle(function_name(::dwarf_dieoffset(&holder))) + "::";
  } else if (tag == DW_TAG_namespace && name == nullptr) {
    scopes += "(anonymous namespace)::";
  } else if (name != nullptr && tag != DW_TAG_lexical_block) {
    scopes += std::string(name) + "::";
  }
}

// The name with the namespaces and types around the declaration. Entries do not know their parents, so the path is
// found from the root; only functions without a linkage name need it.
std::string DebugUnit::qualified_name(Dwarf_Die& function) {
  const char* own = ::dwarf_diename(&function);
  std::string name = own == nullptr ? "" : own;
  if (!has_scopes_ || name.empty()) return name;
  Dwarf_Die declared = function;
  Dwarf_Attribute attribute;
  for (int i = 0; i < 4; ++i) {
    const bool refers = ::dwarf_attr(&declared, DW_AT_specification, &attribute) != nullptr ||
                        ::dwarf_attr(&declared, DW_AT_abstract_origin, &attribute) != nullptr;
    Dwarf_Die next;
    if (!refers || ::dwarf_formref_die(&attribute, &next) == nullptr) break;
    declared = next;
  }
  const Dwarf_Off wanted = ::dwarf_dieoffset(&declared);
  std::string scopes;
  Dwarf_Die at;
  if (::dwarf_offdie(dwarf_, root_, &at) == nullptr) return name;
  for (uint32_t depth = 0; depth < kDeepest; ++depth) {
    Dwarf_Die child;
    if (::dwarf_child(&at, &child) != 0) break;
    // The last child that does not begin after the wanted entry is it or holds it.
    Dwarf_Die holder = child;
    int unnamed_types = 0;
    while (::dwarf_dieoffset(&child) <= wanted) {
      holder = child;
      unnamed_types += is_unnamed_type(child);
      if (::dwarf_siblingof(&child, &child) != 0) break;
    }
    if (::dwarf_dieoffset(&holder) >= wanted) break;
    if (is_unnamed_type(holder)) {
      // The type of a lambda, in GNU spelling but for the types of its parameters.
      scopes += "{lambda(" + std::string(takes_parameters(declared) ? "…" : "") + ")#" + std::to_string(unnamed_types) +
                "}::";
    } else {
      add_scope(holder, scopes);
    }
    at = holder;
  }
  return scopes + name;
}

}  // namespace tephra::objects
