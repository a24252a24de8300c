#include "stream/records.h"

namespace tephra::stream {

uint64_t payload_size(const Record& record) {
  base::ByteReader reader(record.body());
  if (record.type == kRecordAuxtrace) return reader.u64();
  // The text of trace formats is padded to whole words.
  const uint64_t size = reader.u32();
  if (size > 0 && reader.remaining() >= size) return 0;  // simpleperf puts the text inside the record
  return (size + 7) / 8 * 8;
}

bool RecordWalker::skip_payload(const Record& record) {
  const uint64_t size = payload_size(record);
  if (size > part_.size() - position_ - record.bytes.size()) {
    damaged_ = true;
    return false;
  }
  position_ += record.bytes.size() + size;
  return true;
}

}  // namespace tephra::stream
