#include "objects/go_functions.h"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tephra;
  const auto elf = objects::ElfFile::parse({reinterpret_cast<const std::byte*>(data), size});
  if (!elf) return 0;
  const auto functions = objects::GoFunctions::open(*elf);
  if (!functions) return 0;
  std::vector<objects::DebugInfo::Level> levels;
  for (uint64_t address = 0x400ff8; address < 0x401210; address += 8) {
    const auto function = functions->function_at(address);
    if (function && (function->address > address || function->end <= address)) std::abort();
    functions->find(address, levels);
    if (function && levels.empty()) std::abort();
  }
  return 0;
}
