#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "base/zstd_stream.h"
#include "collect/record_writer.h"

namespace tephra::collect {

inline constexpr int kLowestCompressionLevel = 1;
inline constexpr int kHighestCompressionLevel = 22;

// Turns record bytes into COMPRESSED records: one zstd stream over all of them. perf sets aside a fixed size to unpack
// each of them into, so none unpacks to more than kMaxUnpackedBytes.
class RecordPacker {
 public:
  static constexpr uint32_t kMaxUnpackedBytes = 256 << 10;

  explicit RecordPacker(int level);

  // Appends `parts` to `out` as COMPRESSED records, which can be unpacked without what comes later. Together the parts
  // hold whole records.
  base::Status pack(std::span<const iovec> parts, std::string& out);
  // No more than this is appended for so many bytes.
  static uint64_t packed_bound(uint64_t bytes);

  // The section that tells readers how to unpack. The ratio in it is that of the bytes so far.
  Feature feature() const;

  uint64_t bytes_in() const { return bytes_in_; }
  uint64_t bytes_out() const { return bytes_out_; }

 private:
  base::Status end_step(std::string& out);

  base::ZstdCompressor zstd_;
  int level_;
  std::string packed_;  // what came out of the compressor since its last flush
  uint64_t bytes_in_ = 0;
  uint64_t bytes_out_ = 0;
};

}  // namespace tephra::collect
