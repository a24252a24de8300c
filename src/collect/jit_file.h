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

  // What a look came to.
  struct Look {
    size_t taken = 0;   // bytes that were handed on or passed over; what is unfinished is read again
    bool more = false;  // the file has more than `most` bytes that are new
  };
  // Reads what is new, and hands it to `sink`. `not_before`: a file that was last written before this time of day is of
  // another process. At most `most` bytes are read.
  base::Result<Look> look(const kernel::ProcessRoot& root, int32_t pid, int64_t not_before, size_t most,
                          const Sink& sink);

  const std::string& path() const { return path_; }
  uint32_t source() const { return source_; }
  // It goes on where it is not read: beyond the limit of a file, behind damage, or where the last look had to end.
  bool is_cut() const { return cut_ || more_; }

 private:
  bool open(const kernel::ProcessRoot& root, int64_t not_before);
  // Whether what was read before still stands there.
  bool was_rewritten() const;
  bool read_header(const kernel::ProcessRoot& root);
  // Begins to read what the file has by now; false where there is nothing new.
  bool begin_look(const kernel::ProcessRoot& root, uint64_t now);
  base::Result<Look> read_on(stream::JitBatch batch, size_t most, const Sink& sink);
  base::Status hand_on_lines(std::string_view text, stream::JitBatch batch, const Sink& sink);
  base::Status hand_on_records(std::string_view text, stream::JitBatch batch, const Sink& sink);
  void begin_again();

  stream::JitBatch::Kind kind_;
  std::string path_;
  uint32_t source_;
  std::optional<kernel::ForeignFile> file_;
  uint64_t offset_ = 0;  // of what was not read yet
  std::string tail_;     // the last bytes before it
  uint64_t goal_ = 0;    // how large it was when it was last looked at, and when it had been written
  int64_t changed_ns_ = 0;
  uint64_t last_look_;  // moments
  uint64_t last_change_;
  uint64_t earliest_ = 0;  // of what lies before `goal_` and was not read yet
  uint64_t from_;
  int contents_ = 0;  // how often it was found with something new, while that is what it begins with
  bool snapshots_ = false;
  bool swapped_ = false;
  bool other_clock_ = false;
  bool other_process_ = false;
  bool given_up_ = false;  // it was read to its limit, or is no such file
  bool cut_ = false;
  bool more_ = false;
};

}  // namespace tephra::collect
