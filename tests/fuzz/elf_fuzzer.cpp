#include <cstdlib>

#include "objects/elf_file.h"
#include "objects/symbol_table.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tephra;
  const auto elf = objects::ElfFile::parse({reinterpret_cast<const std::byte*>(data), size});
  if (!elf) return 0;
  (void)elf->debug_link();
  (void)elf->has_debug_info();
  objects::SymbolTable symbols;
  symbols.add(*elf);
  symbols.add_plt(*elf);
  symbols.finish();
  for (const auto& section : elf->sections()) {
    for (const uint64_t into : {uint64_t{0}, section.size / 2, section.size}) {
      const uint64_t address = section.address + into;
      const auto function = symbols.find(address);
      if (function && (function->address > address || function->end <= address)) std::abort();
      if (const auto offset = elf->offset_of_address(address)) (void)elf->address_of_offset(*offset);
    }
  }
  return 0;
}
