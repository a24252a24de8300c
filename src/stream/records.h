#pragma once

#include <linux/perf_event.h>

#include <cstdint>

#include "base/bytes.h"
#include "stream/perf_file.h"

namespace tephra::stream {

inline constexpr size_t kRecordHeaderSize = sizeof(perf_event_header);

// One record of a stream, header included.
struct Record {
  uint32_t type = 0;
  uint16_t misc = 0;
  base::Bytes bytes;

  base::Bytes body() const { return bytes.subspan(kRecordHeaderSize); }
};

// Steps over the records of one part of a stream by the sizes in their headers, and over the payload that follows some
// of them. Stops at the end, or for good at the first record that does not fit.
class RecordWalker {
 public:
  explicit RecordWalker(base::Bytes part) : part_(part) {}

  bool next(Record& record) {
    const size_t left = part_.size() - position_;
    if (left < kRecordHeaderSize) {
      damaged_ = damaged_ || left != 0;
      return false;
    }
    const auto header = base::load<perf_event_header>(part_.data() + position_);
    if (header.size < kRecordHeaderSize || header.size > left) {
      damaged_ = true;
      return false;
    }
    record = Record{header.type, header.misc, part_.subspan(position_, header.size)};
    if (header.type == kRecordAuxtrace || header.type == kRecordTracingData) return skip_payload(record);
    position_ += header.size;
    return true;
  }

  // Where the next record begins; after a failed next(), the end of the last whole record and its payload.
  size_t position() const { return position_; }
  // Whether the walk ended before the end of the part.
  bool damaged() const { return damaged_; }

 private:
  bool skip_payload(const Record& record);

  base::Bytes part_;
  size_t position_ = 0;
  bool damaged_ = false;
};

// The payload that follows a TRACING_DATA or AUXTRACE record; its stated size, which the caller checks against what is
// there.
uint64_t payload_size(const Record& record);

}  // namespace tephra::stream
