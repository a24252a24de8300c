#pragma once

#include <elfutils/libdw.h>

#include <memory>
#include <optional>

#include "base/bytes.h"

namespace tephra::objects {

// DWARF in memory, opened by libdw. A handle serves one thread at a time; several over the same bytes are independent.
class DwarfHandle {
 public:
  // An ELF file that can be read in place (DebugImage), and the one that dwz moved common parts to, where there is one.
  // Both must outlive the handle. Nothing when there is no DWARF to be read.
  static std::optional<DwarfHandle> open(base::Bytes image, base::Bytes alternate = {});

  Dwarf* get() const { return dwarf_.get(); }

 private:
  struct ElfCloser {
    void operator()(Elf* elf) const { ::elf_end(elf); }
  };
  struct DwarfCloser {
    void operator()(Dwarf* dwarf) const { ::dwarf_end(dwarf); }
  };

  bool read(base::Bytes image);
  bool is_linked() const;

  std::unique_ptr<DwarfHandle> alternate_;  // each outlives those below it
  std::unique_ptr<Elf, ElfCloser> elf_;
  std::unique_ptr<Dwarf, DwarfCloser> dwarf_;
};

}  // namespace tephra::objects
