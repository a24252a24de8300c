#pragma once

#include <memory>
#include <string>

#include "base/bytes.h"
#include "base/result.h"

namespace tephra::base {

// Makes a gzip file out of bytes that come in pieces.
class GzipCompressor {
 public:
  GzipCompressor();
  ~GzipCompressor();
  GzipCompressor(const GzipCompressor&) = delete;
  GzipCompressor& operator=(const GzipCompressor&) = delete;

  // Takes bytes; appends what is ready to `out`, which may be nothing.
  Status compress(Bytes bytes, std::string& out);
  // Appends the rest. The object is spent.
  Status finish(std::string& out);

 private:
  struct Stream;
  std::unique_ptr<Stream> stream_;
};

}  // namespace tephra::base
