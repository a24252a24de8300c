#include "objects/debug_info.h"
#include "objects/elf_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tephra;
  const base::Bytes file(reinterpret_cast<const std::byte*>(data), size);
  const auto elf = objects::ElfFile::parse(file);
  const auto info = elf ? objects::DebugInfo::open(file) : nullptr;
  if (!info) return 0;
  std::vector<objects::DebugInfo::Level> levels;
  for (const auto& section : elf->sections()) {
    for (uint64_t into = 0; into < 64; ++into) info->find(section.address + section.size / 64 * into, levels);
  }
  return 0;
}
