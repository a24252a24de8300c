#include "symbols/code_object.h"

#include <elf.h>

#include "base/unxz.h"
#include "model/lock_places.h"

namespace tephra::symbols {
namespace {

using model::Reason;
using objects::ElfFile;

// Many times what distributions embed.
constexpr size_t kLargestEmbedded = 256 << 20;

}  // namespace

std::unique_ptr<CodeObject> CodeObject::open(FileFinder& finder, const WantedFile& wanted, Reason& why_not) {
  FileFinder::Found file = finder.find_code(wanted);
  if (!file.content) {
    why_not = file.why_not;
    return nullptr;
  }
  auto object = parse(file.content->bytes(), wanted.build_id, why_not);
  if (!object) return nullptr;
  object->finder_ = &finder;
  object->file_ = std::move(file);
  object->add_debug_file(wanted);
  object->add_symbols();
  return object;
}

std::unique_ptr<CodeObject> CodeObject::view(base::Bytes image, const model::BuildId& build_id, Reason& why_not) {
  auto object = parse(image, build_id, why_not);
  if (object) object->add_symbols();
  return object;
}

std::unique_ptr<CodeObject> CodeObject::parse(base::Bytes image, const model::BuildId& build_id, Reason& why_not) {
  auto elf = ElfFile::parse(image);
  if (!elf) {
    // Something else is at the path now, or it never was code with symbols.
    why_not = build_id.empty() ? Reason::no_symbol : Reason::build_id_mismatch;
    return nullptr;
  }
  if (!build_id.empty() && !same_build_id(elf->build_id(), build_id.bytes())) {
    why_not = Reason::build_id_mismatch;
    return nullptr;
  }
  std::unique_ptr<CodeObject> object(new CodeObject);
  object->image_ = image;
  object->elf_ = std::move(elf).value();
  return object;
}

void CodeObject::add_debug_file(const WantedFile& wanted) {
  debug_file_ = finder_->find_debug(wanted, elf_);
  if (!debug_file_.content && file_.path != wanted.path) {
    debug_file_ = finder_->find_debug({file_.path, wanted.build_id, wanted.identity}, elf_);
  }
  if (!debug_file_.content) return;
  if (auto elf = ElfFile::parse(debug_file_.content->bytes())) debug_elf_ = std::move(elf).value();
}

// Stripped files of some distributions keep the names of their own functions, compressed.
void CodeObject::add_embedded_symbols() {
  const auto* section = elf_.section(".gnu_debugdata");
  if (section == nullptr || section->content.empty()) return;
  auto unpacked = base::unxz(section->content, kLargestEmbedded);
  if (!unpacked) return;
  embedded_ = std::move(*unpacked);
  if (auto elf = ElfFile::parse(base::as_bytes(embedded_))) {
    embedded_elf_ = std::move(elf).value();
    symbols_.add(*embedded_elf_);
  }
}

void CodeObject::add_symbols() {
  symbols_.add(elf_);
  if (debug_elf_) symbols_.add(*debug_elf_);
  const bool whole = elf_.section(".symtab") != nullptr || (debug_elf_ && debug_elf_->section(".symtab") != nullptr);
  if (!whole) add_embedded_symbols();
  symbols_.add_plt(elf_);
  symbols_.finish();
  go_ = objects::GoFunctions::open(elf_);
  call_frames_.emplace(elf_, debug_elf_ ? &*debug_elf_ : nullptr);
  entry_points_.emplace(elf_, *call_frames_);
}

void CodeObject::open_debug_info() {
  if (debug_info_opened_) return;
  debug_info_opened_ = true;
  const bool own = elf_.has_debug_info();
  if (!own && !(debug_elf_ && debug_elf_->has_debug_info())) return;
  const ElfFile& elf = own ? elf_ : *debug_elf_;
  const base::Bytes image = own ? image_ : debug_file_.content->bytes();
  std::vector<ElfFile> others;
  if (finder_ != nullptr) {
    debug_parts_.emplace(*finder_, elf, own ? file_.path : debug_file_.path, file_.path);
    for (const base::Bytes other : {debug_parts_->alternate(), debug_parts_->package()}) {
      if (auto parsed = ElfFile::parse(other)) others.push_back(std::move(parsed).value());
    }
  }
  std::vector<const ElfFile*> pointers;
  for (const ElfFile& other : others) pointers.push_back(&other);
  const bool trusted = file_.trusted && (own || debug_file_.trusted);
  source_cache_.emplace(cache_, elf_, elf, pointers, trusted);
  debug_info_ = objects::DebugInfo::open(image, source_cache_->stored(), debug_parts_ ? &*debug_parts_ : nullptr);
}

std::optional<objects::SymbolTable::Function> CodeObject::function_at(uint64_t address) const {
  const auto symbol = symbols_.find(address);
  const auto go = go_ ? go_->function_at(address) : std::nullopt;
  // A stripped program has few symbols left, which seem to reach over others.
  if (!go || (symbol && symbol->address >= go->address)) return symbol;
  return objects::SymbolTable::Function{go->name, go->address, go->end};
}

// Segments stay as far apart as they were linked, so code tells where data is. With code at different distances from
// its place in the file it is not known which of it was meant.
std::optional<uint64_t> CodeObject::linked_data_address(uint64_t data_address) const {
  std::optional<uint64_t> distance;
  for (const auto& segment : elf_.segments()) {
    if (segment.type != PT_LOAD || !(segment.flags & PF_X)) continue;
    if (distance && *distance != segment.address - segment.offset) return std::nullopt;
    distance = segment.address - segment.offset;
  }
  if (!distance) return std::nullopt;
  const uint64_t address = (data_address & ~model::kDataAddress) + *distance;
  for (const auto& segment : elf_.segments()) {
    if (segment.type != PT_LOAD || !(segment.flags & PF_W) || address < segment.address) continue;
    if (address - segment.address < segment.memory_size) return address;
  }
  return std::nullopt;
}

std::optional<CodeObject::Variable> CodeObject::variable_at(uint64_t data_address) {
  const auto address = linked_data_address(data_address);
  if (!address) return std::nullopt;
  if (!variables_) {
    variables_.emplace(objects::SymbolTable::Holds::kData);
    variables_->add(elf_);
    if (debug_elf_) variables_->add(*debug_elf_);
    variables_->finish();
  }
  const auto found = variables_->find(*address);
  return found ? std::optional(Variable{found->name, *address - found->address}) : std::nullopt;
}

void CodeObject::prepare_sources(std::span<const uint64_t> addresses) {
  open_debug_info();
  if (debug_info_) debug_info_->prepare(addresses);
}

void CodeObject::store_sources() const {
  if (debug_info_ && debug_info_->is_cut() && finder_ != nullptr) {
    finder_->refuse(elf_.has_debug_info() ? file_.path : debug_file_.path,
                    "its debug information was read in part: it stands for more than a file of its size holds");
  }
  if (debug_info_ && source_cache_) source_cache_->store(base::as_bytes(debug_info_->updated_index()));
}

void CodeObject::find_source(uint64_t address, std::vector<objects::DebugInfo::Level>& levels) {
  levels.clear();
  open_debug_info();
  if (debug_info_) debug_info_->find(address, levels);
  if (go_ && levels.empty()) go_->find(address, levels);
}

}  // namespace tephra::symbols
