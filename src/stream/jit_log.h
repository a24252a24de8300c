#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "base/zstd_stream.h"

namespace tephra::stream {

// What was read at one time from a file in which a process names the code that it generates.
struct JitBatch {
  enum class Kind : uint32_t {
    kPerfMap = 1,     // whole lines of a perf-PID.map
    kJitdump = 2,     // records of a jitdump, without its header, in the byte order `swapped` says
    kLeftOut = 3,     // nothing: the file goes on where it was not read
    kNotWatched = 4,  // nothing: the process generates code, and there were too many to look for its files
  };
  Kind kind = Kind::kPerfMap;
  int32_t pid = 0;           // as the recording's records have it
  uint32_t source = 0;       // the file: batches of one file belong together
  bool unproven = false;     // the file may be of another process
  bool swapped = false;      // kJitdump
  bool other_clock = false;  // kJitdump: its times are not of the recording's clock
  // When the content was written: after `earliest`, when it was not there yet, and before `latest`, when it was seen.
  uint64_t earliest = 0;
  uint64_t latest = 0;
  base::Bytes content;
};

// The content of feature kFeatureTephraJit: how many batches there are, and the batches in the order they were read, as
// one zstd stream, so that it can be written while the recording goes on.
class JitLogWriter {
 public:
  JitLogWriter();

  base::Status add(const JitBatch& batch);
  bool empty() const { return batches_ == 0; }
  // How large the section is about now.
  size_t size() const { return packed_.size(); }
  // The section with all that was added.
  base::Result<std::string> section();

 private:
  base::ZstdCompressor compressor_;
  std::string packed_;
  uint64_t batches_ = 0;
};

// The batches of a section, and the bytes they point to.
struct JitLog {
  std::string content;
  std::vector<JitBatch> batches;
  bool damaged = false;  // something is missing at its end
  // How many functions and lines are plausible for what the section took in the file: text that repeats itself packs
  // almost to nothing, and is no reason to take all memory.
  uint64_t most_rows = UINT64_MAX;
};

// Batches are checked by their checksums: what comes behind a damaged one is left out.
JitLog read_jit_log(base::Bytes section);

}  // namespace tephra::stream
