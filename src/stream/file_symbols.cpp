#include "stream/file_symbols.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

namespace tephra::stream {
namespace {

using model::AddressKind;
using model::CodeKind;
using model::EmbeddedNames;

const FileSymbols::Symbol* find(const std::vector<FileSymbols::Symbol>& symbols, uint64_t address) {
  const auto after = std::ranges::upper_bound(symbols, address, {}, &FileSymbols::Symbol::start);
  if (after == symbols.begin()) return nullptr;
  const FileSymbols::Symbol& before = *std::prev(after);
  return address - before.start < before.size ? &before : nullptr;
}

// Where a frame is, as the table of its file counts.
uint64_t table_address(const FileSymbols& file, const model::Mapping& mapping, uint64_t address) {
  switch (mapping.kind) {
    case CodeKind::kKernelModule:
      return address - mapping.base - file.code_offset.value_or(0) + file.code_address;
    case CodeKind::kFile:
    case CodeKind::kVdso:
      return address - file.code_offset.value_or(0) + file.code_address;
    default:
      return address;
  }
}

class Namer {
 public:
  Namer(std::span<const FileSymbols> files, const model::Profile& profile) : profile_(profile) {
    for (const FileSymbols& file : files) by_path_.emplace(file.path, &file);
  }

  EmbeddedNames name() && {
    std::vector<model::FrameId> order;
    model::for_each_id(profile_.frames, [&](model::FrameId id) {
      if (id != model::FrameId{}) order.push_back(id);
    });
    std::ranges::sort(order, {}, [&](model::FrameId id) {
      const model::Frame& frame = profile_.frames[id];
      return std::tuple(frame.mapping.value, frame.address, frame.kind);
    });
    for (const model::FrameId id : order) add(profile_.frames[id]);
    return std::move(names_);
  }

 private:
  void begin(model::MappingId id) {
    mapping_ = id;
    begun_ = false;
    const auto found = by_path_.find(profile_.text(profile_.mappings[id].path));
    file_ = found == by_path_.end() ? nullptr : found->second;
  }

  void begin_module() {
    EmbeddedNames::Module module;
    module.mapping = profile_.mappings[mapping_];
    module.mapping.path = names_.strings.add(profile_.text(module.mapping.path));
    module.first_row = static_cast<uint32_t>(names_.rows.size());
    names_.modules.push_back(module);
    begun_ = true;
  }

  void add(const model::Frame& frame) {
    if (frame.mapping != mapping_) begin(frame.mapping);
    if (file_ == nullptr) return;
    const uint64_t address = frame.address - (frame.kind == AddressKind::kReturn && frame.address > 0);
    const uint64_t place = table_address(*file_, profile_.mappings[mapping_], address);
    const FileSymbols::Symbol* symbol = find(file_->symbols, place);
    if (symbol == nullptr) return;
    if (!begun_) begin_module();
    EmbeddedNames::Row row;
    row.address = frame.address;
    row.kind = frame.kind;
    // Frames may differ in what does not concern us.
    const bool first = names_.modules.back().row_count == 0;
    if (!first && names_.rows.back().address == row.address && names_.rows.back().kind == row.kind) return;
    row.named = true;
    row.symbol_offset = static_cast<uint32_t>(place - symbol->start + (frame.address - address));
    row.first_level = static_cast<uint32_t>(names_.levels.size());
    row.level_count = 1;
    names_.levels.push_back({.name = {}, .system_name = names_.strings.add(symbol->name), .file = {}, .line = 0});
    names_.rows.push_back(row);
    ++names_.modules.back().row_count;
  }

  const model::Profile& profile_;
  std::unordered_map<std::string_view, const FileSymbols*> by_path_;
  EmbeddedNames names_;
  model::MappingId mapping_;
  const FileSymbols* file_ = nullptr;
  bool begun_ = false;
};

}  // namespace

EmbeddedNames name_frames(std::span<const FileSymbols> files, const model::Profile& profile) {
  return Namer(files, profile).name();
}

}  // namespace tephra::stream
