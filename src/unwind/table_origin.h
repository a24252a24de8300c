#pragma once

#include <cstdint>

#include "objects/elf_file.h"

namespace tephra::unwind {

// What a table was made from: a hash over the parts of a file that decide its rows. A build id is copied as easily as
// any bytes, and must not let the rows of one file serve for another. The hash is fast and could be forged by who knows
// the seed, so each has one of its own that nobody else knows.
struct TableOrigin {
  uint64_t seed = 0;
  uint64_t hash = 0;

  static TableOrigin of(const objects::ElfFile& elf, uint64_t seed);
  // With a seed that nobody can foresee.
  static TableOrigin of(const objects::ElfFile& elf);

  bool operator==(const TableOrigin&) const = default;
};

uint64_t unforeseeable_seed();

}  // namespace tephra::unwind
