#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "collect/record_writer.h"

namespace tephra::collect {

using formats::FileSection;

// Writes a perf.data file that every perf opens at any moment, also when this process is killed without warning.
//
// perf looks for the table of feature sections right behind the data, so a file that still grows has none. Here every
// round ends with the table, in a form that is also a record: the first entry belongs to feature bit 0, which no reader
// looks at, and its first eight bytes are the header of a record of the retired type 65 with the size of the table.
// The data size in the file's header, rewritten with one small write after each round, points at the table; the next
// round is appended behind it, and the old table becomes a record that readers skip. The sections themselves stand
// before the data. Nothing but the header is ever overwritten.
class PerfDataWriter final : public RecordWriter {
 public:
  // Opens an unnamed file in the folder of `path` and writes everything up to the data: header, events, features.
  // Where `path` is something else than a file (a device), it is written to directly.
  static base::Result<PerfDataWriter> create(const std::string& path, std::span<const FileEvent> events,
                                             std::span<const Feature> features);
  PerfDataWriter(PerfDataWriter&&) = default;
  PerfDataWriter& operator=(PerfDataWriter&&) = default;
  // Removes a file that was never published.
  ~PerfDataWriter() override;

  // After a failure the file is as it was at the end of the last round, and stays so.
  base::Status append(std::span<iovec> parts) override;
  using RecordWriter::append;
  // What was appended is now part of the file.
  base::Status end_round() override;
  // Gives the file its name; a file that had it before is renamed to NAME.old, as perf does.
  base::Status publish();
  // The events with ids that came up while recording, for finish() to write.
  void replace_events(std::vector<FileEvent> events) { last_events_ = std::move(events); }
  // The same in the midst of the data, from the next round on. Nothing is done where a record has no room for them.
  base::Status describe_events(std::span<const FileEvent> events);
  // May also be tried after a failure: cutting the file back may have made room.
  base::Status finish(std::span<const Feature> features) override;
  // Gives a published file another name. False: there is a file of that name already.
  base::Result<bool> rename_to(const std::string& path);
  // Removes the file; what publish() renamed to NAME.old gets its name back.
  void discard();

  bool is_file() const { return regular_; }
  bool published() const { return published_; }
  uint64_t bytes() const override { return end_; }
  uint64_t rounds() const override { return rounds_; }

 private:
  PerfDataWriter() = default;
  base::Status write_start(std::span<const FileEvent> events, std::span<const Feature> features);
  base::Status write_parts(std::span<iovec> parts);
  base::Status fail(int error_number);
  std::string table() const;
  // Writes `last_record`, the table, `tail` behind it, and then the header that makes them the end of the file.
  base::Status commit(std::string_view last_record, std::string_view tail);

  std::string path_;
  std::string temporary_;  // the name while unpublished, where unnamed files are not to be had
  base::FileDescriptor fd_;
  bool regular_ = true;
  bool published_ = false;
  bool replaced_ = false;  // an earlier file is now NAME.old
  bool broken_ = false;
  std::map<int, FileSection> sections_;
  FileSection attrs_;
  FileSection committed_attrs_;
  std::vector<FileEvent> last_events_;
  uint64_t data_offset_ = 0;
  uint64_t end_ = 0;        // where the next byte goes
  uint64_t committed_ = 0;  // end of the last table
  uint64_t rounds_ = 0;
};

}  // namespace tephra::collect
