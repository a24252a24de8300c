#pragma once

#include "model/profile.h"
#include "symbols/file_finder.h"

namespace tephra::symbols {

// The Firefox Profiler's formats have addresses of code as it is loaded: relative to the first segment of its file. The
// model has offsets in files. They are the same where a linker gave code the same offset as address, as GNU ld does;
// lld does not. The file tells, where it is at hand; addresses in other files stay as they are.

// From relative addresses to offsets. Servers are asked for files of which something is to be named, and would be then.
model::Profile with_file_offsets(model::Profile profile, FileFinder& finder);
// And back.
model::Profile with_relative_addresses(model::Profile profile, FileFinder& finder);

}  // namespace tephra::symbols
