#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "objects/elf_file.h"

namespace tephra::symbols {

// The content of a regular file. Unlike FileContent::open it never blocks or reads a device, since the paths come from
// recordings.
base::Result<base::FileContent> open_regular(const std::string& path);

// The separate debug file of the code object `elf` that was read from `path`: by build id, then by the link the file
// holds, under `roots` and beside the file. A file of another build id, or without one and with a checksum other than
// the link's, is not it.
std::optional<base::FileContent> find_debug_file(const std::string& path, const objects::ElfFile& elf,
                                                 const std::vector<std::string>& roots = {"/usr/lib/debug"});

}  // namespace tephra::symbols
