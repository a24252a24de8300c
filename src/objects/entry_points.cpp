#include "objects/entry_points.h"

#include <elf.h>

#include <algorithm>
#include <string_view>

namespace tephra::objects {
namespace {

// A sparse file can claim any size; libraries export some ten thousand names.
constexpr size_t kMostSymbolBytes = size_t{64} << 20;

constexpr uint64_t kLargestScan = 16 << 10;  // functions scanned here are a few hundred bytes

bool starts_threads(std::string_view name) {
  return name == "pthread_create" || name == "thrd_create" || name.starts_with("_ZNSt6thread15_M_start_thread");
}

std::string_view symbol_name(base::Bytes names, uint32_t at) {
  return at < names.size() ? base::until_nul(names.subspan(at)) : std::string_view{};
}

// The bytes of a function, as far as they are in the file.
base::Bytes code_of(const ElfFile& elf, uint64_t address, uint64_t size) {
  const base::Bytes code = elf.bytes_at(address);
  return code.first(std::min<uint64_t>({code.size(), size, kLargestScan}));
}

uint64_t relative_target(base::Bytes code, uint64_t address, size_t displacement_at) {
  const auto displacement = base::load<int32_t>(code.data() + displacement_at);
  return address + displacement_at + sizeof displacement + static_cast<uint64_t>(int64_t{displacement});
}

// Where the code calls directly. `call rel32` is E8 and the distance. Bytes that only look like one give a place where,
// as a rule, no function begins.
std::vector<uint64_t> called_from(const ElfFile& elf, uint64_t address, uint64_t size) {
  std::vector<uint64_t> targets;
  const base::Bytes code = code_of(elf, address, size);
  for (size_t at = 0; at + 5 <= code.size(); ++at) {
    if (code[at] == std::byte{0xe8}) targets.push_back(relative_target(code, address, at + 1));
  }
  return targets;
}

// Whose address the code takes. `lea rel32(%rip), REG` is a REX.W prefix, 8D, and a byte that names the register and
// says "relative to here".
std::vector<uint64_t> referenced_from(const ElfFile& elf, uint64_t address, uint64_t size) {
  std::vector<uint64_t> targets;
  const base::Bytes code = code_of(elf, address, size);
  for (size_t at = 0; at + 7 <= code.size(); ++at) {
    const bool wide = (code[at] & std::byte{0xfb}) == std::byte{0x48};
    const bool relative = (code[at + 2] & std::byte{0xc7}) == std::byte{0x05};
    if (wide && code[at + 1] == std::byte{0x8d} && relative) targets.push_back(relative_target(code, address, at + 3));
  }
  return targets;
}

// Whose address a function that starts threads, or one it calls, takes.
std::vector<uint64_t> thread_starts(const ElfFile& elf, const CallFrames& frames, uint64_t address, uint64_t size) {
  std::vector<uint64_t> targets = referenced_from(elf, address, size);
  for (const uint64_t callee : called_from(elf, address, size)) {
    const auto facts = frames.find(callee);
    if (!facts || facts->function_start != callee) continue;
    const auto more = referenced_from(elf, callee, facts->function_end - callee);
    targets.insert(targets.end(), more.begin(), more.end());
  }
  return targets;
}

}  // namespace

EntryPoints::EntryPoints(const ElfFile& elf, const CallFrames& frames) {
  if (elf.machine() != EM_X86_64 || !elf.is_64bit()) return;
  for (const ElfFile::Section& section : elf.sections()) {
    if (section.type != SHT_DYNSYM) continue;
    const ElfFile::Section* names = elf.section_at(section.link);
    if (names == nullptr) continue;
    const size_t end = std::min(section.content.size(), kMostSymbolBytes);
    for (size_t at = 0; at + sizeof(Elf64_Sym) <= end; at += sizeof(Elf64_Sym)) {
      const auto symbol = base::load<Elf64_Sym>(section.content.data() + at);
      if (symbol.st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol.st_info) != STT_FUNC) continue;
      const std::string_view name = symbol_name(names->content, symbol.st_name);
      std::vector<uint64_t> found;
      if (name == "__libc_start_main") found = called_from(elf, symbol.st_value, symbol.st_size);
      if (starts_threads(name)) found = thread_starts(elf, frames, symbol.st_value, symbol.st_size);
      starts_.insert(starts_.end(), found.begin(), found.end());
    }
  }
  std::sort(starts_.begin(), starts_.end());
}

bool EntryPoints::contains(uint64_t function_start) const {
  return std::binary_search(starts_.begin(), starts_.end(), function_start);
}

}  // namespace tephra::objects
