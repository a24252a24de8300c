#include "unwind/table_origin.h"

#include <elf.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/hash.h"
#include "objects/cfi_section.h"

namespace tephra::unwind {
namespace {

using base::Bytes;
using objects::ElfFile;

// Stubs of the linkage table are described by what they are.
bool is_stubs(const ElfFile::Section& section) {
  return (section.flags & SHF_EXECINSTR) != 0 && (section.name.starts_with(".plt") || section.name == ".iplt");
}

}  // namespace

uint64_t unforeseeable_seed() {
  uint64_t seed = 0;
  if (::getrandom(&seed, sizeof seed, 0) != sizeof seed) seed = base::monotonic_ns();
  return seed;
}

TableOrigin TableOrigin::of(const ElfFile& elf, uint64_t seed) {
  uint64_t hash = base::mix(seed ^ elf.machine(), elf.entry());
  const auto add = [&](Bytes bytes) {
    elf.need(bytes);
    hash = base::hash_bytes(bytes, hash);
  };
  add(elf.build_id());
  for (const ElfFile::Segment& segment : elf.segments()) {
    hash = base::mix(hash ^ segment.type, segment.flags);
    hash = base::mix(hash ^ segment.offset, segment.address);
    hash = base::mix(hash ^ segment.file_size, segment.memory_size);
  }
  const objects::CfiSection frames = objects::eh_frame_of(elf);
  hash = base::mix(hash, frames.address());
  add(frames.content());
  for (const ElfFile::Section& section : elf.sections()) {
    if (section.name != ".debug_frame" && !is_stubs(section)) continue;
    hash = base::mix(hash, section.address);
    add(section.content);
    add(section.compressed_content);
  }
  return {seed, hash};
}

TableOrigin TableOrigin::of(const ElfFile& elf) { return of(elf, unforeseeable_seed()); }

}  // namespace tephra::unwind
