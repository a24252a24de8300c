#pragma once

#include <memory>
#include <string>

#include "base/bytes.h"
#include "base/result.h"

namespace tephra::base {

// One zstd stream that arrives in pieces.
class ZstdDecompressor {
 public:
  ZstdDecompressor();
  ~ZstdDecompressor();
  ZstdDecompressor(const ZstdDecompressor&) = delete;
  ZstdDecompressor& operator=(const ZstdDecompressor&) = delete;

  // Appends what `packed` adds to the stream. Refuses to let `out` grow beyond `limit` bytes.
  Status decompress(Bytes packed, std::string& out, size_t limit);

 private:
  struct Stream;
  std::unique_ptr<Stream> stream_;
};

}  // namespace tephra::base
