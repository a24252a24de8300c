#pragma once

#include <string>
#include <vector>

#include "model/profile.h"
#include "symbols/answers.h"

namespace tephra::symbols {

// Where the running kernel tells about itself.
struct RunningKernel {
  std::string symbols = "/proc/kallsyms";
  std::string notes = "/sys/kernel/notes";
  std::string os_release;  // empty: ask the system
};

// Looks up `frames`, all of the kernel image or of modules, in the symbols of the running kernel, provided that it is
// the one that was recorded: the same build, or where none is known the same release at the same address. The same
// build at another address (another boot) is shifted; modules of another boot are not named.
Answers answer_kernel(const model::Profile& profile, const std::vector<model::FrameId>& frames,
                      const RunningKernel& kernel = {});

}  // namespace tephra::symbols
