#include "stream/records.h"

namespace tephra::stream {

uint64_t payload_size(const Record& record) {
  base::ByteReader reader(record.body());
  if (record.type == kRecordAuxtrace) return reader.u64();
  // The text of trace formats is padded to whole words.
  const uint64_t size = reader.u32();
  return (size + 7) / 8 * 8;
}

bool RecordWalker::skip_payload(const Record& record) {
  const uint64_t size = payload_size(record);
  if (size > part_.size() - position_) {
    damaged_ = true;
    position_ = part_.size();
    return false;
  }
  position_ += size;
  return true;
}

}  // namespace tephra::stream
