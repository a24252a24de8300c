#include "symbols/code_object.h"

#include "base/unxz.h"

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
  call_frames_.emplace(elf_, debug_elf_ ? &*debug_elf_ : nullptr);
  entry_points_.emplace(elf_, *call_frames_);
}

void CodeObject::open_debug_info() {
  const bool own = elf_.has_debug_info();
  if (!own && !(debug_elf_ && debug_elf_->has_debug_info())) return;
  const ElfFile& elf = own ? elf_ : *debug_elf_;
  const base::Bytes image = own ? image_ : debug_file_.content->bytes();
  if (finder_ != nullptr) debug_parts_.emplace(*finder_, elf, own ? file_.path : debug_file_.path, file_.path);
  debug_info_ = objects::DebugInfo::open(image, debug_parts_ ? &*debug_parts_ : nullptr);
}

void CodeObject::find_source(uint64_t address, std::vector<objects::DebugInfo::Level>& levels) {
  levels.clear();
  if (!debug_info_opened_) {
    debug_info_opened_ = true;
    open_debug_info();
  }
  if (debug_info_) debug_info_->find(address, levels);
}

}  // namespace tephra::symbols
