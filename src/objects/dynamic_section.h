#pragma once

#include <string_view>
#include <vector>

#include "objects/elf_file.h"

namespace tephra::objects {

// What a file asks of the loader. The texts live as long as the bytes of the file.
struct DynamicSection {
  std::string_view interpreter;          // PT_INTERP: the loader itself; empty for libraries and static programs
  std::vector<std::string_view> needed;  // DT_NEEDED, in their order
  std::string_view rpath;                // folders to look in; empty where `runpath` is there, as loaders ignore it then
  std::string_view runpath;
};
DynamicSection read_dynamic_section(const ElfFile& elf);

}  // namespace tephra::objects
