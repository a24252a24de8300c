#include "base/gzip_stream.h"

#include <zlib.h>

#include <algorithm>

namespace tephra::base {

struct GzipCompressor::Stream {
  z_stream handle{};
  bool ready = false;

  Stream() {
    constexpr int kGzip = 15 + 16;  // the largest window, in gzip's wrapping
    ready = ::deflateInit2(&handle, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzip, 8, Z_DEFAULT_STRATEGY) == Z_OK;
  }
  ~Stream() {
    if (ready) ::deflateEnd(&handle);
  }

  Status run(Bytes bytes, bool last, std::string& out) {
    if (!ready) return failed("cannot compress", "", "there is not enough memory");
    constexpr size_t kMost = 1 << 30;  // zlib counts in 32 bits
    do {
      const Bytes part = bytes.first(std::min(bytes.size(), kMost));
      bytes = bytes.subspan(part.size());
      handle.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(part.data()));
      handle.avail_in = static_cast<uInt>(part.size());
      TEPHRA_CHECK_OK(take(last && bytes.empty(), out));
    } while (!bytes.empty());
    return {};
  }

 private:
  Status take(bool last, std::string& out) {
    constexpr size_t kStep = 64 << 10;
    for (bool more = true; more;) {
      const size_t before = out.size();
      out.resize(before + kStep);
      handle.next_out = reinterpret_cast<Bytef*>(out.data() + before);
      handle.avail_out = kStep;
      const int result = ::deflate(&handle, last ? Z_FINISH : Z_NO_FLUSH);
      out.resize(before + kStep - handle.avail_out);
      if (result == Z_STREAM_ERROR) return failed("cannot compress", "", "the stream is damaged");
      more = handle.avail_out == 0;
    }
    return {};
  }
};

GzipCompressor::GzipCompressor() : stream_(std::make_unique<Stream>()) {}
GzipCompressor::~GzipCompressor() = default;

Status GzipCompressor::compress(Bytes bytes, std::string& out) { return stream_->run(bytes, false, out); }

Status GzipCompressor::finish(std::string& out) { return stream_->run({}, true, out); }

}  // namespace tephra::base
