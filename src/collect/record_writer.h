#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "base/result.h"
#include "formats/perf_data_sections.h"

namespace tephra::collect {

using formats::Feature;
using formats::FileEvent;

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
