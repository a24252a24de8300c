#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "formats/code_layout.h"
#include "objects/demangle.h"
#include "stream/jit_traces.h"

namespace tephra::formats {

using model::AddressKind;
using model::CodeKind;
using model::EmbeddedNames;

// Collects the names of a layout, by the mappings and addresses that stream/ will make of its ranges.
class LayoutNames {
 public:
  LayoutNames(const CodeLayout& layout, const std::vector<std::vector<int32_t>>& processes)
      : layout_(layout), profile_(layout.profile_), processes_(processes) {
    // An address of the kernel that is in no range is read as one of its image.
    kernel_image_ = {.path = names_.strings.add("[kernel.kallsyms]"), .kind = CodeKind::kKernel};
    for (const CodeLayout::Range& range : layout_.ranges_) {
      if (range.kind == CodeKind::kKernel) kernel_image_ = as_read(range, 0);
    }
  }

  EmbeddedNames collect() && {
    for (uint32_t i = 0; i < layout_.locations_.size(); ++i) {
      if (layout_.uses_[i] != 0) add(i);
    }
    std::ranges::sort(entries_, {},
                      [](const Entry& entry) { return std::tuple(entry.module, entry.address, entry.kind); });
    for (const Entry& entry : entries_) put(entry);
    return std::move(names_);
  }

 private:
  struct Entry {
    uint32_t module = 0;
    uint64_t address = 0;
    AddressKind kind = AddressKind::kInstruction;
    uint32_t location = 0;
  };

  // The mapping that a reader will make of a range, in a process where that matters.
  model::Mapping as_read(const CodeLayout::Range& range, int32_t pid) {
    const model::Mapping& mapping = profile_.mappings[range.mapping];
    model::Mapping read{.path = names_.strings.add(range.path), .kind = range.kind};
    switch (range.kind) {
      case CodeKind::kFile:
        if (stream::is_anonymous_memory(range.path)) {
          read.kind = CodeKind::kAnonymous;
          read.base = range.start;
          read.pid = pid;
        }
        [[fallthrough]];
      case CodeKind::kVdso:
        read.build_id = mapping.build_id;
        if (read.build_id.empty()) read.file = mapping.file;
        break;
      case CodeKind::kImported:
        read.path = names_.strings.add(profile_.text(mapping.path));
        break;
      case CodeKind::kAnonymous:
        read.file = mapping.file;
        read.base = range.start;
        read.pid = pid;
        break;
      case CodeKind::kJit:
        read.base = range.start;
        read.pid = pid;
        break;
      case CodeKind::kKernel:
        read.path = names_.strings.add("[kernel.kallsyms]");
        read.build_id = mapping.build_id;
        read.base = mapping.base;
        break;
      case CodeKind::kKernelModule:
        read.build_id = mapping.build_id;
        read.base = range.start;
        break;
      default:  // kKernelCode
        read.base = range.start;
    }
    return read;
  }

  static uint64_t address_as_read(const model::Mapping& read, const CodeLayout::Range& range, uint64_t address) {
    const bool relative =
        read.kind == CodeKind::kFile || read.kind == CodeKind::kVdso || read.kind == CodeKind::kImported;
    return relative ? address - range.start + range.offset : address;
  }

  static bool is_of_process(const CodeLayout::Range& range) {
    return range.kind == CodeKind::kAnonymous || range.kind == CodeKind::kJit ||
           (range.kind == CodeKind::kFile && stream::is_anonymous_memory(range.path));
  }

  void add(uint32_t location) {
    const CodeLayout::Place& place = layout_.places_[location];
    if (place.range == CodeLayout::kNoRange) {
      return add(location, place.kernel ? kernel_image_ : model::Mapping{}, place.address, place.return_address);
    }
    const CodeLayout::Range& range = layout_.ranges_[place.range];
    if (!is_of_process(range)) return add_in(location, range, place, 0);
    for (const int32_t pid : processes_[place.range]) add_in(location, range, place, pid);
  }

  void add_in(uint32_t location, const CodeLayout::Range& range, const CodeLayout::Place& place, int32_t pid) {
    const model::Mapping read = as_read(range, pid);
    add(location, read, address_as_read(read, range, place.address),
        address_as_read(read, range, place.return_address));
  }

  void add(uint32_t location, const model::Mapping& read, uint64_t address, uint64_t return_address) {
    const auto [module, fresh] = modules_.try_emplace(read, static_cast<uint32_t>(names_.modules.size()));
    if (fresh) names_.modules.push_back({.mapping = read});
    if (layout_.uses_[location] & CodeLayout::kAsInstruction) {
      entries_.push_back({module->second, address, AddressKind::kInstruction, location});
    }
    if (layout_.uses_[location] & CodeLayout::kAsReturn) {
      entries_.push_back({module->second, return_address, AddressKind::kReturn, location});
    }
  }

  void put(const Entry& entry) {
    EmbeddedNames::Module& module = names_.modules[entry.module];
    if (module.row_count == 0) module.first_row = static_cast<uint32_t>(names_.rows.size());
    EmbeddedNames::Row row{.address = entry.address, .kind = entry.kind};
    const bool known =
        module.row_count > 0 && names_.rows.back().address == row.address && names_.rows.back().kind == row.kind;
    if (known) return;  // another frame of the same names
    const CodeLayout::Location& location = layout_.locations_[entry.location];
    const model::Frame& holder = profile_.frames[location.holder];
    row.named = profile_.functions[holder.function].named;
    row.symbol_offset = symbol_offset_as(holder, entry.kind);
    row.first_level = static_cast<uint32_t>(names_.levels.size());
    row.level_count = location.depth;
    names_.levels.resize(names_.levels.size() + location.depth);
    for (uint32_t at = entry.location; at != CodeLayout::kNoOuter; at = layout_.locations_[at].outer) {
      const model::Frame& frame = profile_.frames[layout_.locations_[at].frame];
      row.facts |= frame.facts;
      names_.levels[row.first_level + layout_.locations_[at].depth - 1] = level_of(frame, module.mapping.kind);
      module.has_lines = module.has_lines || frame.line != 0;
    }
    names_.rows.push_back(row);
    ++module.row_count;
  }

  // That of an address which is read as one of `kind`; see CodeLayout::Place.
  static uint32_t symbol_offset_as(const model::Frame& frame, AddressKind kind) {
    if (frame.symbol_offset == 0 || frame.kind == kind) return frame.symbol_offset;
    return kind == AddressKind::kReturn ? frame.symbol_offset + 1 : frame.symbol_offset - 1;
  }

  EmbeddedNames::Level level_of(const model::Frame& frame, CodeKind kind) {
    const model::Function& function = profile_.functions[frame.function];
    const std::string_view name = profile_.text(function.name);
    const std::string_view symbol = profile_.text(function.system_name);
    EmbeddedNames::Level level;
    level.system_name = names_.strings.add(symbol);
    // What readers make of the symbol themselves they can also make otherwise, as they are asked to.
    const bool demangled = kind == CodeKind::kFile || kind == CodeKind::kVdso;
    const bool derived = function.named && !symbol.empty() && name == (demangled ? shown(symbol) : symbol);
    if (!derived) level.name = names_.strings.add(name);
    level.file = names_.strings.add(profile_.text(frame.file));
    level.line = frame.line;
    return level;
  }

  std::string_view shown(std::string_view symbol) {
    const auto [at, fresh] = shown_.try_emplace(symbol);
    if (fresh) at->second = objects::demangle(symbol);
    return at->second;
  }

  const CodeLayout& layout_;
  const model::Profile& profile_;
  const std::vector<std::vector<int32_t>>& processes_;
  EmbeddedNames names_;
  model::Mapping kernel_image_;
  std::map<model::Mapping, uint32_t> modules_;
  std::vector<Entry> entries_;
  std::unordered_map<std::string_view, std::string> shown_;
};

EmbeddedNames CodeLayout::names(const std::vector<std::vector<int32_t>>& processes) const {
  return LayoutNames(*this, processes).collect();
}

}  // namespace tephra::formats
