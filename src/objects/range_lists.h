#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "base/bytes.h"

namespace tephra::objects {

// How long lists of ranges are, to be asked before libdw reads them: it passes over the base addresses in a list
// without coming back, so that one question could take as long as the section is large. One thread at a time.
class RangeLists {
 public:
  // Bytes of the list that `entry` has; 0 where it has none. Reads as many.
  uint64_t bytes_of(Dwarf_Die& entry);

 private:
  struct Sections {
    base::Bytes ranges;    // .debug_ranges
    base::Bytes rnglists;  // .debug_rnglists
  };
  const Sections& sections_of(Dwarf* dwarf);

  std::vector<std::pair<Dwarf*, Sections>> known_;  // one, and that of dwz
};

}  // namespace tephra::objects
