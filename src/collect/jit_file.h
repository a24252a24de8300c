#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "kernel/foreign_file.h"
#include "kernel/process_root.h"
#include "stream/jit_log.h"

namespace tephra::collect {

// A file in which a process names its generated code, read as it grows. The file may be anything: it is the process's.
class JitFile {
 public:
  using Sink = std::function<base::Status(const stream::JitBatch&)>;

  // `path` is as the process sees it. `source` tells files apart. `from`: when the process began to run its program.
  JitFile(stream::JitBatch::Kind kind, std::string path, uint32_t source, uint64_t from)
      : kind_(kind), path_(std::move(path)), source_(source), last_look_(from), last_change_(from), from_(from) {}

  // Written as a whole each time (Java), so that nothing is known of the time between.
  void set_snapshots() { snapshots_ = true; }

  // Reads what is new, and hands it to `sink`. `not_before`: a file that was last written before this time of day is of
  // another process. At most `most` bytes are read; returns how many were.
  base::Result<size_t> look(const kernel::ProcessRoot& root, int32_t pid, int64_t not_before, size_t most,
                            const Sink& sink);

  const std::string& path() const { return path_; }
  // It was read to its limit, or is no such file.
  bool given_up() const { return given_up_; }

 private:
  bool open(const kernel::ProcessRoot& root, int64_t not_before);
  // Whether what was read before still stands there.
  bool was_rewritten() const;
  bool read_header(const kernel::ProcessRoot& root);
  base::Status hand_on_lines(std::string_view text, stream::JitBatch batch, const Sink& sink);
  base::Status hand_on_records(std::string_view text, stream::JitBatch batch, const Sink& sink);
  void begin_again();

  stream::JitBatch::Kind kind_;
  std::string path_;
  uint32_t source_;
  std::optional<kernel::ForeignFile> file_;
  uint64_t offset_ = 0;  // of what was not read yet
  std::string tail_;     // the last bytes before it
  int64_t changed_ns_ = 0;
  uint64_t last_look_;  // moments
  uint64_t last_change_;
  uint64_t from_;
  bool snapshots_ = false;
  bool swapped_ = false;
  bool other_clock_ = false;
  bool other_process_ = false;
  bool given_up_ = false;
};

}  // namespace tephra::collect
