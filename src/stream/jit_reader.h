#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/quality.h"
#include "stream/jit_code.h"
#include "stream/jit_log.h"

namespace tephra::stream {

// A change of the generated code of a process.
struct JitChange {
  uint64_t moment = 0;  // before this, it had surely not happened
  uint64_t latest = 0;  // from then on, it surely had
  int32_t pid = 0;
  JitCode::Source source = JitCode::Source::kPerfMap;
  bool unload = false;
  uint32_t function = 0;
  uint64_t start = 0;
  uint64_t end = 0;

  void apply(JitCode& code) const;
};

// How the times of batches compare with the moments of a recording.
struct JitClock {
  bool has_time = true;   // without times, what was told last holds for the whole recording
  bool monotonic = true;  // the recording's clock is that of jitdumps
};

// Reads batches: adds their functions to `code` and returns the changes in the order of time. What cannot be read is
// counted in `quality`.
std::vector<JitChange> read_jit_batches(std::span<const JitBatch> batches, const JitClock& clock, JitCode& code,
                                        model::Quality& quality);

}  // namespace tephra::stream
