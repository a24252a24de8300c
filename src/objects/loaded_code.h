#pragma once

#include <cstdint>
#include <vector>

#include "objects/elf_file.h"

namespace tephra::objects {

// Which addresses of a linked file can be code. Linkers that leave a function out (--gc-sections, --icf) leave its
// debug information in, at address 0 or at one of the last addresses; from 0 it may reach over real code, since
// programs that can be loaded anywhere are linked to begin there.
class LoadedCode {
 public:
  // Where a file has no segments of code, nothing is known: everything but the last addresses may be code.
  explicit LoadedCode(const ElfFile& elf);

  // Whether code may begin there.
  bool may_begin_at(uint64_t address) const;

 private:
  struct Part {
    uint64_t begin;
    uint64_t end;
  };
  std::vector<Part> parts_;  // sorted, without overlap
  bool anywhere_ = true;
};

}  // namespace tephra::objects
