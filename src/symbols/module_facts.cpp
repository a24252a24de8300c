#include "symbols/module_facts.h"

#include <optional>

#include "objects/call_frames.h"
#include "objects/elf_file.h"
#include "symbols/file_finder.h"

namespace tephra::symbols {
namespace {

using objects::ElfFile;

bool has_symbols(const ElfFile& elf, std::string_view section_name) {
  const auto* section = elf.section(section_name);
  // The first symbol of a table is always the empty one.
  return section != nullptr && section->entry_size > 0 && section->content.size() > section->entry_size;
}

}  // namespace

bool read_module(base::Bytes file, const std::string& path, ModuleFacts& facts) {
  const auto elf = ElfFile::parse(file);
  if (!elf) return false;
  facts.readable = true;
  facts.build_id = model::BuildId(elf->build_id());
  facts.go = elf->section(".gopclntab") != nullptr || elf->section(".note.go.buildid") != nullptr;
  facts.debug_info = elf->has_debug_info();
  if (has_symbols(*elf, ".dynsym")) facts.names = ModuleFacts::Names::kExportsOnly;
  if (has_symbols(*elf, ".symtab")) facts.names = ModuleFacts::Names::kAll;
  FileFinder finder;
  const auto debug_content = finder.find_debug({path, facts.build_id, {}}, *elf).content;
  std::optional<ElfFile> debug;
  if (debug_content) {
    if (auto parsed = ElfFile::parse(debug_content->bytes())) debug = std::move(parsed).value();
  }
  if (debug) {
    facts.debug_file = true;
    facts.debug_info = facts.debug_info || debug->has_debug_info();
    if (has_symbols(*debug, ".symtab")) facts.names = ModuleFacts::Names::kAll;
  }
  const objects::CallFrames frames(*elf, debug ? &*debug : nullptr);
  facts.frames = objects::survey_frames(*elf, frames);
  return true;
}

}  // namespace tephra::symbols
