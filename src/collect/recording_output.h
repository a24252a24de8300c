#pragma once

#include <sys/uio.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "collect/packed_records.h"
#include "collect/record_writer.h"

namespace tephra::collect {

class PerfDataWriter;
class PerfPipeWriter;

// When a recording goes on in a new file. Any of them may be set.
struct Rotation {
  std::optional<uint64_t> bytes;  // when the file is about that large
  std::optional<double> seconds;  // when it was begun so long ago
  bool on_signal = false;         // when the recorder is told to
};

// Parses what --switch-output takes: "signal" (also an empty text), a size such as "100M", or a time such as "30s".
base::Result<Rotation> parse_rotation(std::string_view text);

// Whether what is recorded to this path is a stream, as for a pipe.
bool is_stream(const std::string& path);

struct OutputSettings {
  std::string path = "perf.data";        // "-": a stream to standard output. A FIFO gets a stream too
  std::optional<int> compression_level;  // 1 to 22; 0 or not given: none
  std::optional<uint64_t> max_bytes;     // the recording is full when the files that are kept have this size together
  std::optional<Rotation> rotation;
  std::optional<size_t> max_files;  // with rotation: the oldest finished file is deleted when there are more
  bool timestamp_names = false;     // a finished file is PATH.YYYYMMDDhhmmsscc; so it is always with rotation
};

// Over all files of a recording.
struct OutputTotals {
  uint64_t bytes_written = 0;  // also in files deleted since
  uint64_t bytes_kept = 0;
  uint64_t rounds = 0;
  size_t files_kept = 0;  // with the current one
  size_t files_deleted = 0;
  uint64_t ring_bytes = 0;    // given to append_rings and taken
  uint64_t packed_bytes = 0;  // what they became in the file; the same without compression
};

// Where a recording goes: one file, one file after the other, or a pipe; compressed or not; with or without a limit.
//
// The order of calls: create, append, end_round, publish; then for each round append_rings and append, end_round. To
// rotate, finish, then begin_next, append, end_round, publish. At the end finish. After an error nothing but salvage or
// discard. The current file has the name PATH; where finished files have other names it gets its own in finish.
//
// Ignores SIGXFSZ, and for a pipe SIGPIPE, as long as it lives, so that a limit on file sizes or a reader that went
// away is an answer to a write. A program to be recorded must have been forked before.
class RecordingOutput {
 public:
  using Clock = std::chrono::steady_clock;

  // Begins the first file, which has no name yet.
  static base::Result<RecordingOutput> create(OutputSettings settings, std::span<const FileEvent> events,
                                              std::span<const Feature> features);
  RecordingOutput(RecordingOutput&&) noexcept;
  RecordingOutput& operator=(RecordingOutput&&) noexcept;
  // Removes a file that was never published.
  ~RecordingOutput();

  // Records of our own making. They are stored as they are, also beyond the size limit.
  base::Status append(base::Bytes records);
  // Ring bytes: whole records in all parts together; the parts are used up. Returns how many bytes were taken: all, or
  // when the size limit is reached (then full() is true) the whole records before that. Once it returned, the rings'
  // space may be released.
  base::Result<uint64_t> append_rings(std::span<iovec> parts);
  // What was appended is now part of the file, also when we are killed.
  base::Status end_round();
  // Gives the file its name; a file of an earlier recording is renamed to NAME.old, as perf does.
  base::Status publish();

  // Whether the size says that it is time for finish and begin_next. Never true for a pipe.
  bool reached_size() const;
  // When the time says so.
  std::optional<Clock::time_point> rotation_time() const;
  bool rotates() const { return settings_.rotation.has_value() && !is_pipe(); }
  bool rotates_on_signal() const { return settings_.rotation && settings_.rotation->on_signal; }

  // What finish() will add, for the size limit. Call it when it has grown.
  void reserve_tail(uint64_t bytes) { tail_bytes_ = bytes; }
  // The size limit is reached: finish is all that is left.
  bool full() const { return full_; }
  // The reader of the pipe went away: ask once a second or so. What is appended afterwards is dropped without an error.
  bool reader_gone();
  // The recording has to end, for one of the two reasons above.
  bool ended() { return full() || reader_gone(); }

  // The events with ids that came up since the file was begun, for finish(). A pipe cannot tell them any more.
  void replace_events(std::vector<FileEvent> events);
  // The same at once, so that they are known also if we are killed. Those of a file with more events than a record has
  // room for are told by finish() alone.
  base::Status describe_events(const std::vector<FileEvent>& events);
  // Ends the current file with sections known only now, gives it its final name, and deletes the oldest file where
  // there are too many.
  base::Status finish(std::span<const Feature> features);
  // After finish: begins the next file.
  base::Status begin_next(std::span<const FileEvent> events, std::span<const Feature> features);

  // After a failed call: keeps what readers can use of the current file, with the features if there is room, and
  // removes it if no ring bytes are in it. False: no file is left at all.
  bool salvage(std::span<const Feature> features);
  // Removes the current file. FILE.old gets its name back.
  void discard();

  bool is_pipe() const { return pipe_ != nullptr; }
  // Of the current file; 0 between finish and begin_next.
  uint64_t bytes() const;
  uint64_t rounds() const;
  OutputTotals totals() const;
  // The name of the file that was finished last; the settings' path before that.
  const std::string& last_path() const { return last_path_; }
  // All finished files that are still there, the oldest first.
  std::vector<std::string> finished_paths() const;

 private:
  struct FinishedFile {
    std::string path;
    uint64_t bytes = 0;
  };
  class SignalGuard;

  explicit RecordingOutput(OutputSettings settings);
  base::Status begin(std::span<const FileEvent> events, std::span<const Feature> features);
  base::Status begin_file(std::span<const FileEvent> events, std::span<const Feature> features);
  base::Status write(std::span<iovec> parts);
  uint64_t kept_bytes() const;
  // Bytes that still fit under the size limit.
  uint64_t room() const;
  // The whole records at the front of `parts` that surely fit.
  uint64_t fitting(std::span<const iovec> parts) const;
  std::vector<Feature> with_compression(std::span<const Feature> features) const;
  base::Status name_finished();
  void keep_under_first_name();
  void delete_oldest();
  void forget_current();
  RecordWriter* writer() const;

  OutputSettings settings_;
  std::unique_ptr<SignalGuard> signals_;
  std::unique_ptr<PerfDataWriter> file_;
  std::unique_ptr<PerfPipeWriter> pipe_;
  std::optional<RecordPacker> packer_;
  std::string packed_;
  Clock::time_point begun_;
  uint64_t tail_bytes_ = 0;
  bool full_ = false;
  uint64_t ring_bytes_ = 0;   // of the current file
  uint64_t whole_rings_ = 0;  // of them, those of rounds that have ended
  std::deque<FinishedFile> finished_;
  OutputTotals past_;  // of files that are finished
  std::string last_path_;
  int64_t last_time_ = 0;  // in its name, in hundredths of a second
};

}  // namespace tephra::collect
