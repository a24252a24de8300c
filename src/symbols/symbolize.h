#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/disk_cache.h"
#include "model/profile.h"
#include "symbols/answers.h"
#include "symbols/file_finder.h"

namespace tephra::symbols {

struct Options {
  bool inlines = true;  // add the frames of inlined functions
  bool demangle = true;
  bool full_names = false;             // demangled names with their parameter lists
  bool exact_unknown = false;          // name an unknown frame by its exact address, not by the start of its function
  std::shared_ptr<FileFinder> finder;  // where files are found; null: one of its own, which knows `kept` alone
  base::DiskCache cache{""};           // where what was read of debug information is kept for the next time
  std::optional<std::chrono::steady_clock::time_point> lines_until;  // then no more inlined functions and lines
};

// Names every frame of `profile`: returns a profile whose frames have functions, source lines and facts from call-frame
// information, and whose stacks have rows for inlined functions. Samples keep their number and order. Frames that
// cannot be named get "[unknown] file+0xoffset" and a reason in Quality, weighted by samples. Distinct addresses are
// looked up once, files in parallel. Frames that already have a function are left as they are. Names that the recording
// brought with it come first; see EmbeddedAnswers.
model::Profile symbolize(const model::Profile& profile, const Options& options);

// What symbolize puts into the profile: an answer for each frame that has no function yet.
std::vector<Answers> look_up(const model::Profile& profile, const Options& options);

}  // namespace tephra::symbols
