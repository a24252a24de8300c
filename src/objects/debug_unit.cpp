#include "objects/debug_unit.h"

#include <dwarf.h>

#include <algorithm>
#include <functional>
#include <string>

#include "objects/demangle.h"
#include "objects/line_rows.h"
#include "objects/type_names.h"

namespace tephra::objects {
namespace {

// Deeper than any compiler nests; bounds the recursion on hostile input.
constexpr uint32_t kDeepest = 256;
// How many names may need the name of another function in turn: a lambda in a lambda in a function …
constexpr uint32_t kDeepestName = 32;
constexpr size_t kLongestScopes = 16 << 10;

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

bool is_unnamed_type(Dwarf_Die& entry) {
  const int tag = ::dwarf_tag(&entry);
  return (tag == DW_TAG_structure_type || tag == DW_TAG_class_type) && ::dwarf_diename(&entry) == nullptr;
}

}  // namespace

DebugUnit::DebugUnit(Dwarf* dwarf, Dwarf_Off root, const UnitSurroundings& surroundings)
    : dwarf_(dwarf), code_(surroundings.code), budget_(surroundings.budget), line_section_(surroundings.line_section) {
  if (::dwarf_offdie(dwarf, root, &root_) == nullptr) return;
  const int language = ::dwarf_srclang(&root_);
  has_scopes_ = !is_c(language);
  code_in_types_ = has_scopes_ && !is_cxx(language);
  size_t file_count = 0;
  if (::dwarf_getsrcfiles(&root_, &files_, &file_count) != 0) file_count = 0;
  file_names_.assign(file_count, kNone);
  walk(root_, kNone, 0);
  flatten();
  read_lines();
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
  Dwarf_Die function = entry;
  Dwarf_Die origin;
  // All inlined calls of a function share its abstract entry, and thus its name.
  const bool inlined = ::dwarf_tag(&entry) == DW_TAG_inlined_subroutine;
  if (inlined && attributes.has_origin && ::dwarf_formref_die(&attributes.origin, &origin) != nullptr) {
    function = origin;
  }
  const auto index = static_cast<uint32_t>(tables_.nodes.size());
  const uint32_t call_file = inlined ? file_name(attributes.call_file) : 0;
  tables_.nodes.push_back({function_name(function), parent, call_file, attributes.call_line});
  for_each_range(entry, code_, budget_, lists_, [&](uint64_t begin, uint64_t end) {
    intervals_.push_back({begin, end, index, depth});
  });
  walk(entry, index, depth + 1);
}

void DebugUnit::emit(uint64_t begin, uint32_t node) {
  auto& begins = tables_.segment_begins;
  auto& nodes = tables_.segment_nodes;
  if (!begins.empty() && begins.back() == begin) {
    nodes.back() = node;
  } else if (begins.empty() || nodes.back() != node) {
    begins.push_back(begin);
    nodes.push_back(node);
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
}

void DebugUnit::read_lines() {
  Dwarf_Lines* table = nullptr;
  size_t count = 0;
  if (::dwarf_getsrclines(&root_, &table, &count) != 0 || count == 0 || !budget_.take_lines(count)) return;
  Dwarf_Addr first = 0;
  const bool has_discarded = ::dwarf_lineaddr(::dwarf_onesrcline(table, 0), &first) == 0 && !code_.may_begin_at(first);
  if (has_discarded && read_lines_of_loaded_code()) return;
  for (size_t i = 0; i < count; ++i) {
    Dwarf_Line* line = ::dwarf_onesrcline(table, i);
    Dwarf_Addr address = 0;
    int number = 0;
    bool end = false;
    size_t file = 0;
    Dwarf_Files* files = nullptr;
    if (::dwarf_lineaddr(line, &address) != 0 || ::dwarf_lineendsequence(line, &end) != 0) continue;
    if (::dwarf_lineno(line, &number) != 0 || ::dwarf_line_file(line, &files, &file) != 0) continue;
    add_line(address, end ? UnitTables::Place{kNone, 0} : UnitTables::Place{file_name(file), uint32_t(number)});
  }
  join_lines();
}

bool DebugUnit::read_lines_of_loaded_code() {
  Dwarf_Attribute attribute;
  Dwarf_Word offset = 0;
  if (::dwarf_attr(&root_, DW_AT_stmt_list, &attribute) == nullptr || ::dwarf_formudata(&attribute, &offset) != 0) {
    return false;
  }
  const auto rows = read_line_rows(line_section_, offset, code_);
  if (!rows) return false;
  for (const LineRow& row : *rows) {
    add_line(row.address, row.ends ? UnitTables::Place{kNone, 0} : UnitTables::Place{file_name(row.file), row.line});
  }
  join_lines();
  return true;
}

// Rows come in the order of addresses.
void DebugUnit::add_line(uint64_t address, UnitTables::Place place) {
  auto& begins = tables_.line_begins;
  auto& places = tables_.line_places;
  if (begins.empty() || begins.back() != address) {
    begins.push_back(address);
    places.push_back(place);
  } else if (place.file != kNone) {
    // Of several rows at one address the last one counts; but a run of code that ends where another begins says
    // nothing.
    places.back() = place;
  }
}

// Compilers write a row for every statement and view; half of them repeat the line of the row before.
void DebugUnit::join_lines() {
  auto& begins = tables_.line_begins;
  auto& places = tables_.line_places;
  size_t kept = 0;
  for (size_t i = 0; i < begins.size(); ++i) {
    if (kept > 0 && places[kept - 1] == places[i]) continue;
    begins[kept] = begins[i];
    places[kept++] = places[i];
  }
  begins.resize(kept);
  places.resize(kept);
}

uint32_t DebugUnit::add_text(std::string_view text) {
  constexpr uint64_t kMost = UINT32_MAX - 1;
  if (text.empty() || tables_.strings.size() + text.size() + 1 > kMost || !budget_.take_text(text.size())) return 0;
  const auto at = static_cast<uint32_t>(tables_.strings.size());
  tables_.strings.append(text).push_back('\0');
  return at;
}

uint32_t DebugUnit::add_text_of_file(const char* text) {
  const auto [at, fresh] = texts_.try_emplace(text, 0);
  if (fresh) at->second = add_text(text);
  return at->second;
}

uint32_t DebugUnit::file_name(uint64_t index) {
  if (index >= file_names_.size()) return 0;
  uint32_t& at = file_names_[index];
  if (at == kNone) {
    const char* name = ::dwarf_filesrc(files_, index, nullptr, nullptr);
    at = name == nullptr ? 0 : add_text(name);
  }
  return at;
}

uint32_t DebugUnit::function_name(Dwarf_Die& function) {
  // Known from the start, so that entries that refer to each other in a circle come to an end.
  if (const auto [at, fresh] = names_.try_emplace(function.addr, 0); !fresh) return at->second;
  const uint32_t name = read_function_name(function);
  names_[function.addr] = name;
  return name;
}

uint32_t DebugUnit::read_function_name(Dwarf_Die& function) {
  Dwarf_Attribute attribute;
  for (const unsigned kind : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name}) {
    if (::dwarf_attr_integrate(&function, kind, &attribute) == nullptr) continue;
    if (const char* name = ::dwarf_formstring(&attribute); name != nullptr) return add_text_of_file(name);
  }
  return add_text(qualified_name(function));
}

const std::string& DebugUnit::function_scope(Dwarf_Die& function) {
  if (const auto at = function_scopes_.find(function.addr); at != function_scopes_.end()) return at->second;
  const uint32_t name = function_name(function);  // adds to the strings, so first
  std::string scope = demangle(tables_.view().text(name)) + "::";
  return function_scopes_[function.addr] = std::move(scope);
}

// Adds what a scope puts before a name. A function's own name has all the scopes around it.
void DebugUnit::add_scope(Dwarf_Die& holder, std::string& scopes) {
  const int tag = ::dwarf_tag(&holder);
  const char* name = ::dwarf_diename(&holder);
  if (tag == DW_TAG_subprogram) {
    scopes = function_scope(holder);
  } else if (tag == DW_TAG_namespace && name == nullptr) {
    scopes += "(anonymous namespace)::";
  } else if (name != nullptr && tag != DW_TAG_lexical_block) {
    scopes += std::string(name) + "::";
  }
}

const std::vector<DebugUnit::Child>& DebugUnit::children_of(Dwarf_Die& entry) {
  const auto [at, fresh] = children_.try_emplace(entry.addr);
  Dwarf_Die child;
  if (!fresh || ::dwarf_child(&entry, &child) != 0) return at->second;
  uint32_t unnamed_types = 0;
  do {
    unnamed_types += is_unnamed_type(child);
    at->second.push_back({child, unnamed_types});
  } while (::dwarf_siblingof(&child, &child) == 0);
  return at->second;
}

// The name with the namespaces and types around the declaration.
std::string DebugUnit::qualified_name(Dwarf_Die& function) {
  const char* own = ::dwarf_diename(&function);
  std::string name = own == nullptr ? "" : own;
  if (!has_scopes_ || name.empty() || name_depth_ >= kDeepestName) return name;
  Dwarf_Die declared = function;
  Dwarf_Attribute attribute;
  for (int i = 0; i < 4; ++i) {
    const bool refers = ::dwarf_attr(&declared, DW_AT_specification, &attribute) != nullptr ||
                        ::dwarf_attr(&declared, DW_AT_abstract_origin, &attribute) != nullptr;
    Dwarf_Die next;
    if (!refers || ::dwarf_formref_die(&attribute, &next) == nullptr) break;
    declared = next;
  }
  ++name_depth_;
  const std::string scopes = scopes_of(declared);
  --name_depth_;
  return scopes + name;
}

// The types of parameters may be of other lambdas in turn. Each is spelled once, and one that needs itself is not.
const std::string& DebugUnit::lambda_parameters(Dwarf_Die& function) {
  const auto [at, fresh] = lambda_parameters_.try_emplace(function.addr, "…");
  if (!fresh || name_depth_ >= kDeepestName || budget_.is_spent()) return at->second;
  ++name_depth_;
  std::string types = parameter_types(function, [this](Dwarf_Die& type) { return scopes_of(type); });
  --name_depth_;
  budget_.take_text(types.size());
  return lambda_parameters_[function.addr] = std::move(types);
}

// Entries do not know their parents, so the way is found from the root; only functions without a linkage name need it.
std::string DebugUnit::scopes_of(Dwarf_Die& declared) {
  std::string scopes;
  Dwarf_Die at;
  // A function may be declared in another unit than the one that inlined it.
  if (::dwarf_diecu(&declared, &at, nullptr, nullptr) == nullptr) return scopes;
  for (uint32_t depth = 0; depth < kDeepest && scopes.size() < kLongestScopes; ++depth) {
    const auto& children = children_of(at);
    // The last child that does not begin after the wanted entry is it or holds it. Addresses of entries are places in
    // the section.
    const auto after = std::upper_bound(
        children.begin(), children.end(), declared.addr,
        [](const void* wanted, const Child& child) { return std::less<>()(wanted, child.entry.addr); });
    if (after == children.begin() || (after - 1)->entry.addr == declared.addr) break;
    Child holder = *(after - 1);
    if (is_unnamed_type(holder.entry)) {
      // The type of a lambda, in GNU spelling.
      scopes += "{lambda(" + lambda_parameters(declared) + ")#" + std::to_string(holder.unnamed_types) + "}::";
    } else {
      add_scope(holder.entry, scopes);
    }
    at = holder.entry;
  }
  return scopes;
}

}  // namespace tephra::objects
