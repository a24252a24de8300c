#include "collect/packed_records.h"

#include <linux/perf_event.h>

#include <algorithm>

#include "stream/perf_file.h"
#include "stream/put.h"

namespace tephra::collect {
namespace {

using stream::put;

constexpr size_t kMaxRecordBytes = (64 << 10) - 8;
constexpr size_t kMaxPackedInRecord = kMaxRecordBytes - sizeof(perf_event_header);

void put_records(std::string_view packed, std::string& out) {
  while (!packed.empty()) {
    const std::string_view piece = packed.substr(0, kMaxPackedInRecord);
    perf_event_header header{};
    header.type = stream::kRecordCompressed;
    header.size = static_cast<uint16_t>(sizeof header + piece.size());
    put(out, header);
    out += piece;
    packed.remove_prefix(piece.size());
  }
}

}  // namespace

RecordPacker::RecordPacker(int level) : zstd_(level), level_(level) {}

base::Status RecordPacker::pack(std::span<const iovec> parts, std::string& out) {
  const size_t before = out.size();
  size_t step_bytes = 0;
  packed_.clear();
  for (const iovec& part : parts) {
    base::Bytes rest(static_cast<const std::byte*>(part.iov_base), part.iov_len);
    while (!rest.empty()) {
      const base::Bytes step = rest.first(std::min<size_t>(rest.size(), kMaxUnpackedBytes - step_bytes));
      TEPHRA_CHECK_OK(zstd_.compress(step, packed_));
      rest = rest.subspan(step.size());
      step_bytes += step.size();
      bytes_in_ += step.size();
      if (step_bytes == kMaxUnpackedBytes) {
        TEPHRA_CHECK_OK(end_step(out));
        step_bytes = 0;
      }
    }
  }
  if (step_bytes > 0) TEPHRA_CHECK_OK(end_step(out));
  bytes_out_ += out.size() - before;
  return {};
}

// What is given to the compressor between two flushes comes out between them, so it bounds what a record unpacks to.
base::Status RecordPacker::end_step(std::string& out) {
  TEPHRA_CHECK_OK(zstd_.flush(packed_));
  put_records(packed_, out);
  packed_.clear();
  return {};
}

uint64_t RecordPacker::packed_bound(uint64_t bytes) {
  // zstd stores what it cannot shrink, with a few bytes a block; a flush and a record header have a fixed cost.
  return bytes + bytes / 256 + 64 * (bytes / kMaxUnpackedBytes + 2);
}

Feature RecordPacker::feature() const {
  Feature feature{stream::kFeatureCompressed, {}};
  put(feature.content, uint32_t{1});  // version of this section
  put(feature.content, uint32_t{1});  // zstd
  put(feature.content, static_cast<uint32_t>(level_));
  put(feature.content, static_cast<uint32_t>(bytes_out_ == 0 ? 0 : (bytes_in_ + bytes_out_ / 2) / bytes_out_));
  put(feature.content, kMaxUnpackedBytes);
  return feature;
}

}  // namespace tephra::collect
