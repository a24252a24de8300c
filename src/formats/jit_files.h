#pragma once

#include <memory>
#include <string>
#include <vector>

#include "stream/jit_traces.h"
#include "stream/recording.h"

namespace tephra::formats {

// Looks on this machine for the files in which the processes of a recording named their generated code: the maps
// /tmp/perf-PID.map, and the jitdumps that they had mapped. For recordings in which no recorder stored them. Nothing is
// found for a recording of another machine. That such a file is of the same process cannot be known, and is said of
// each (JitBatch::unproven), except of a jitdump that names the process and has times of the recording's clock; one whose
// first record is from behind the recording's end is not used. `folder` is where maps are.
std::shared_ptr<const stream::JitLog> find_jit_files(const stream::Recording& recording,
                                                     const std::vector<stream::JitTrace>& traces,
                                                     const std::string& folder = "/tmp");

}  // namespace tephra::formats
