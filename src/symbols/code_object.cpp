#include "symbols/code_object.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>

#include "symbols/debug_file.h"
#include "symbols/file_finder.h"

namespace tephra::symbols {
namespace {

using model::Reason;
using objects::ElfFile;

// Whether another file of the same filesystem is at `path` now. Devices tell nothing when they differ: layered
// filesystems show another one to the kernel than to programs.
bool was_replaced(const std::string& path, const model::FileIdentity& recorded) {
  struct stat now {};
  if (recorded.inode == 0 || ::stat(path.c_str(), &now) != 0) return false;
  const uint64_t device = uint64_t{major(now.st_dev)} << 32 | minor(now.st_dev);
  return recorded.device == device && recorded.inode != now.st_ino;
}

}  // namespace

std::unique_ptr<CodeObject> CodeObject::open(const std::string& path, const model::BuildId& build_id,
                                             const model::FileIdentity& identity, Reason& why_not) {
  auto file = open_regular(path);
  if (!file) {
    why_not = Reason::file_missing;
    return nullptr;
  }
  if (build_id.empty() && was_replaced(path, identity)) {
    why_not = Reason::build_id_mismatch;
    return nullptr;
  }
  return read(std::move(file).value(), path, build_id, why_not);
}

std::unique_ptr<CodeObject> CodeObject::read(base::FileContent content, const std::string& path,
                                             const model::BuildId& build_id, Reason& why_not) {
  auto object = parse(content.bytes(), build_id, why_not);
  if (!object) return nullptr;
  object->file_ = std::move(content);
  object->add_debug_file(path);
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

void CodeObject::add_debug_file(const std::string& path) {
  debug_file_ = find_debug_file(path, elf_);
  if (!debug_file_) return;
  if (auto elf = ElfFile::parse(debug_file_->bytes())) debug_elf_ = std::move(elf).value();
}

void CodeObject::add_symbols() {
  symbols_.add(elf_);
  if (debug_elf_) symbols_.add(*debug_elf_);
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
  const base::Bytes image = own ? image_ : debug_file_->bytes();
  source_cache_.emplace(cache_, elf_, own ? elf_ : *debug_elf_);
  debug_info_ = objects::DebugInfo::open(image, source_cache_->stored());
}

std::optional<objects::SymbolTable::Function> CodeObject::function_at(uint64_t address) const {
  const auto symbol = symbols_.find(address);
  const auto go = go_ ? go_->function_at(address) : std::nullopt;
  // A stripped program has few symbols left, which seem to reach over others.
  if (!go || (symbol && symbol->address >= go->address)) return symbol;
  return objects::SymbolTable::Function{go->name, go->address, go->end};
}

void CodeObject::prepare_sources(std::span<const uint64_t> addresses) {
  open_debug_info();
  if (debug_info_) debug_info_->prepare(addresses);
}

void CodeObject::store_sources() const {
  if (debug_info_ && source_cache_) source_cache_->store(base::as_bytes(debug_info_->updated_index()));
}

void CodeObject::find_source(uint64_t address, std::vector<objects::DebugInfo::Level>& levels) {
  levels.clear();
  open_debug_info();
  if (debug_info_) debug_info_->find(address, levels);
  if (go_ && levels.empty()) go_->find(address, levels);
}

}  // namespace tephra::symbols
