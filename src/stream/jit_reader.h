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

// Reads batches, whose times are moments of the recording. `jitdump_clock`: so are those in jitdumps. Adds their
// functions to `code` and returns the changes in the order of time. What cannot be read is counted in `quality`: lines
// and records that are none, batches behind more than `most_rows` functions and lines, and call-frame information that
// is too much.
std::vector<JitChange> read_jit_batches(std::span<const JitBatch> batches, bool jitdump_clock, JitCode& code,
                                        model::Quality& quality, uint64_t most_rows = UINT64_MAX);

}  // namespace tephra::stream
