#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "collect/record_writer.h"

namespace tephra::collect {

// Writes a recording as a stream, as perf does with `-o -`: what a file has in its header comes as records of its own.
//
// A reader that goes away ends the stream without an error: what is appended afterwards is dropped. The caller ignores
// SIGPIPE. A reader that does not read holds us, but no longer than a second after a signal to end arrived that is
// blocked and waits (SIGINT, SIGTERM, SIGHUP); then it counts as gone.
class PerfPipeWriter final : public RecordWriter {
 public:
  // `path` is "-" for standard output, or a FIFO that somebody reads already.
  static base::Result<PerfPipeWriter> open(const std::string& path, std::span<const FileEvent> events,
                                           std::span<const Feature> features);
  PerfPipeWriter(PerfPipeWriter&&) = default;
  PerfPipeWriter& operator=(PerfPipeWriter&&) = default;

  base::Status append(std::span<iovec> parts) override;
  using RecordWriter::append;
  base::Status end_round() override;
  base::Status finish(std::span<const Feature> features) override;

  uint64_t bytes() const override { return bytes_; }
  uint64_t rounds() const override { return rounds_; }
  bool reader_gone();

 private:
  PerfPipeWriter() = default;
  base::Status write_start(std::span<const FileEvent> events, std::span<const Feature> features);
  base::Status fail(int error_number);
  bool wait_for_room();

  std::string name_;
  base::FileDescriptor fd_;
  size_t most_at_once_ = SIZE_MAX;  // of bytes, where writing would block otherwise
  bool gone_ = false;
  bool broken_ = false;
  uint64_t bytes_ = 0;
  uint64_t rounds_ = 0;
  uint64_t round_begin_ = 0;
};

}  // namespace tephra::collect
