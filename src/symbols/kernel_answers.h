#pragma once

#include <string>
#include <vector>

#include "base/disk_cache.h"
#include "model/profile.h"
#include "symbols/answers.h"
#include "symbols/file_finder.h"

namespace tephra::symbols {

// Where the running kernel tells about itself.
struct RunningKernel {
  std::string symbols = "/proc/kallsyms";
  std::string notes = "/sys/kernel/notes";
  std::string boot_id = "/proc/sys/kernel/random/boot_id";
  std::string os_release;  // empty: ask the system
};

// Looks up `frames`, all of the kernel image or of modules, in the symbols of the running kernel, provided that it is
// the one that was recorded: the same build, or where none is known the same release at the same address. The same
// build at another address (another boot) is shifted; modules of another boot are not named. Where the running kernel
// is another one, the file of the recorded one is used if `finder` finds it. What holds until the next boot is kept in
// `cache`.
Answers answer_kernel(const model::Profile& profile, const std::vector<model::FrameId>& frames,
                      const RunningKernel& kernel = {}, FileFinder* finder = nullptr,
                      const base::DiskCache& cache = base::DiskCache(""));

}  // namespace tephra::symbols
