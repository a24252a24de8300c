#include <cstdlib>

#include "objects/call_frames.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tephra;
  const auto elf = objects::ElfFile::parse({reinterpret_cast<const std::byte*>(data), size});
  if (!elf) return 0;
  const objects::CallFrames frames(*elf);
  for (const auto& section : elf->sections()) {
    for (uint64_t into = 0; into < 64; ++into) {
      const uint64_t address = section.address + section.size / 64 * into;
      const auto facts = frames.find(address);
      if (facts && facts->function_start > address) std::abort();
    }
  }
  return 0;
}
