#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "behaviour.h"

namespace tephra::fake {

// The executable mappings, and those of other files, of a running process.
std::vector<Mapping> mappings_of(pid_t pid);

// Code for samples of a running process: in the named functions of its program by weight, called by main; without names
// somewhere in its text, and one sample in ten in the kernel.
std::shared_ptr<const Code> code_of(pid_t pid, const std::vector<Mapping>& mappings,
                                    const std::vector<std::pair<std::string, double>>& functions);

}  // namespace tephra::fake
