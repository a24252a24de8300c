#pragma once

#include <string>

#include "base/result.h"
#include "model/profile.h"

namespace tephra::symbols {

// Whether a file is an ELF file, as programs are.
bool is_elf_file(const std::string& path);

// Lets the profile's program be the file at `path`, as who asks for it vouches for it: the mapping with its build id,
// or without any the one of the same file name, or the first one. Where the profile tells no mappings, addresses are
// those that the file was linked at. An error where the profile says that another build ran.
base::Result<model::Profile> with_program(model::Profile profile, const std::string& path);

}  // namespace tephra::symbols
