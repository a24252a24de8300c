#include "base/zstd_stream.h"

#include <zstd.h>

namespace tephra::base {

struct ZstdDecompressor::Stream {
  ZSTD_DStream* handle = ZSTD_createDStream();
  ~Stream() { ZSTD_freeDStream(handle); }
};

ZstdDecompressor::ZstdDecompressor() : stream_(std::make_unique<Stream>()) {}
ZstdDecompressor::~ZstdDecompressor() = default;

Status ZstdDecompressor::decompress(Bytes packed, std::string& out, size_t limit) {
  ZSTD_inBuffer input{packed.data(), packed.size(), 0};
  const size_t step = ZSTD_DStreamOutSize();
  for (bool more = true; more;) {
    if (out.size() >= limit) return failed("cannot unpack", "", "the compressed data is implausibly large");
    const size_t before = out.size();
    out.resize(before + step);
    ZSTD_outBuffer output{out.data() + before, step, 0};
    const size_t result = ZSTD_decompressStream(stream_->handle, &output, &input);
    out.resize(before + output.pos);
    if (ZSTD_isError(result)) return failed("cannot unpack", "", ZSTD_getErrorName(result));
    // A full output buffer may hide more; an unread input certainly does.
    more = input.pos < input.size || output.pos == step;
  }
  return {};
}

}  // namespace tephra::base
