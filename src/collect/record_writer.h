#pragma once

#include <linux/perf_event.h>
#include <sys/uio.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace tephra::collect {

// One event of a recording as the file describes it.
struct FileEvent {
  perf_event_attr attr{};
  std::string name;
  std::vector<uint64_t> ids;
  int group = -1;  // events of one group follow each other, the first leads; -1: in none
};

// A feature section: its bit in perf's header and its content.
struct Feature {
  int bit = 0;
  std::string content;
};

// Where the records of a recording go: a file or a pipe. Its start, with events and the features known so far, is
// written when it is made.
class RecordWriter {
 public:
  virtual ~RecordWriter() = default;

  // Appends whole records. The parts are used up. After a failure nothing more is taken.
  virtual base::Status append(std::span<iovec> parts) = 0;
  // Ends a round: readers may sort what was appended since the last one. Nothing happens when nothing was appended.
  virtual base::Status end_round() = 0;
  // Adds sections known only at the end, or replaces earlier ones. Nothing may be appended after it.
  virtual base::Status finish(std::span<const Feature> features) = 0;

  // What was written so far.
  virtual uint64_t bytes() const = 0;
  virtual uint64_t rounds() const = 0;

  base::Status append(base::Bytes bytes) {
    iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};
    return append(std::span(&part, 1));
  }
};

}  // namespace tephra::collect
