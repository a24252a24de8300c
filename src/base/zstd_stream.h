#pragma once

#include <memory>
#include <string>

#include "base/bytes.h"
#include "base/result.h"

namespace tephra::base {

// Decompresses one zstd frame that must yield exactly `output.size()` bytes. False when it does not.
bool unzstd_into(Bytes compressed, std::span<std::byte> output);

// One zstd stream that arrives in pieces.
class ZstdDecompressor {
 public:
  ZstdDecompressor();
  ~ZstdDecompressor();
  ZstdDecompressor(const ZstdDecompressor&) = delete;
  ZstdDecompressor& operator=(const ZstdDecompressor&) = delete;

  // Appends what `packed` adds to the stream. Refuses to let `out` grow beyond `limit` bytes. Where the stream is
  // damaged, what comes before the block with the damage is appended; after an error there is no more.
  Status decompress(Bytes packed, std::string& out, size_t limit);

 private:
  struct Stream;
  std::unique_ptr<Stream> stream_;
};

// Makes one zstd stream out of bytes that come in pieces.
class ZstdCompressor {
 public:
  // `level` is 1 to 22. From 20 on it looks harder but no further back than 19 does (8 MiB), and so
  // needs no more memory (0.1 GB).
  explicit ZstdCompressor(int level);
  ~ZstdCompressor();
  ZstdCompressor(ZstdCompressor&&) noexcept;
  ZstdCompressor& operator=(ZstdCompressor&&) noexcept;

  // Takes bytes; appends what is ready to `out`, which may be nothing.
  Status compress(Bytes bytes, std::string& out);
  // Appends the rest of what was given so far, so that all of it can be unpacked. The stream goes on.
  Status flush(std::string& out);
  // The same at the end, so that it is a file that other programs unpack.
  Status finish(std::string& out);

 private:
  struct Stream;
  std::unique_ptr<Stream> stream_;
};

}  // namespace tephra::base
