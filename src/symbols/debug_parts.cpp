#include "symbols/debug_parts.h"

namespace tephra::symbols {

DebugParts::DebugParts(FileFinder& finder, const objects::ElfFile& elf, std::string path, std::string code_path)
    : finder_(finder), elf_(elf), path_(std::move(path)), code_path_(std::move(code_path)) {}

base::Bytes DebugParts::keep(const FileFinder::Found& found) {
  if (!found.content) return {};
  kept_.push_back(found.content);
  return found.content->bytes();
}

base::Bytes DebugParts::alternate() {
  const auto link = elf_.alternate_link();
  return link ? keep(finder_.find_alternate(path_, *link)) : base::Bytes();
}

base::Bytes DebugParts::package() {
  // Split units index the addresses in the program.
  if (elf_.section(".debug_addr") == nullptr) return {};
  const base::Bytes beside_code = keep(finder_.find_package(code_path_));
  return beside_code.empty() && path_ != code_path_ ? keep(finder_.find_package(path_)) : beside_code;
}

base::Bytes DebugParts::split(const objects::SplitUnitName& unit) {
  const base::Bytes beside_debug = keep(finder_.find_split(path_, unit));
  return beside_debug.empty() && path_ != code_path_ ? keep(finder_.find_split(code_path_, unit)) : beside_debug;
}

void DebugParts::refuse(const objects::SplitUnitName& unit, const std::string& why) {
  finder_.refuse(path_, std::string(unit.name) + " " + why);
}

}  // namespace tephra::symbols
