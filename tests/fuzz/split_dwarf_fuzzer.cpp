// A program whose debug information is spread over other files, all of them hostile: the input is cut into the program,
// a file of a split unit, a package and what dwz moved out.
#include <array>

#include "base/unxz.h"
#include "objects/debug_info.h"
#include "objects/elf_file.h"

namespace {

using tephra::base::Bytes;
using namespace tephra::objects;

class Parts : public DebugSources {
 public:
  explicit Parts(std::array<Bytes, 4> parts) : parts_(parts) {}
  Bytes alternate() override { return parts_[3]; }
  Bytes package() override { return parts_[2]; }
  Bytes split(const SplitUnitName&) override { return parts_[1]; }
  void refuse(const SplitUnitName&, const std::string&) override {}

 private:
  std::array<Bytes, 4> parts_;
};

// Each part begins with its size, in four bytes.
std::array<Bytes, 4> cut(Bytes input) {
  std::array<Bytes, 4> parts;
  tephra::base::ByteReader reader(input);
  for (Bytes& part : parts) {
    const uint32_t size = reader.u32();
    part = reader.bytes(std::min<size_t>(size, reader.remaining()));
  }
  return parts;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Bytes input(reinterpret_cast<const std::byte*>(data), size);
  const auto parts = cut(input);
  Parts sources(parts);
  const auto elf = ElfFile::parse(parts[0]);
  if (elf) {
    (void)elf->alternate_link();
    if (const auto* section = elf->section(".gnu_debugdata")) (void)tephra::base::unxz(section->content, 1 << 20);
  }
  const auto info = elf ? DebugInfo::open(parts[0], {}, &sources) : nullptr;
  if (!info) return 0;
  std::vector<DebugInfo::Level> levels;
  for (const auto& section : elf->sections()) {
    for (uint64_t into = 0; into < 64; ++into) info->find(section.address + section.size / 64 * into, levels);
  }
  return 0;
}
