#include "base/zstd_stream.h"

#include <zstd.h>

#include <algorithm>

namespace tephra::base {

bool unzstd_into(Bytes compressed, std::span<std::byte> output) {
  // A frame that states another size is refused before any memory of the output is touched.
  const unsigned long long stated = ZSTD_getFrameContentSize(compressed.data(), compressed.size());
  if (stated == ZSTD_CONTENTSIZE_ERROR) return false;
  if (stated != ZSTD_CONTENTSIZE_UNKNOWN && stated != output.size()) return false;
  return ZSTD_decompress(output.data(), output.size(), compressed.data(), compressed.size()) == output.size();
}

struct ZstdDecompressor::Stream {
  ZSTD_DStream* handle = ZSTD_createDStream();
  size_t next = kFrameBegin;  // how many bytes the next step gets at most
  ~Stream() { ZSTD_freeDStream(handle); }

  // A step that fails does not tell what it had unpacked before, so none gets more than one block. zstd asks for a
  // block together with the header of the next.
  static size_t step_after(size_t asked_for) {
    if (asked_for == 0) return kFrameBegin;
    return asked_for > kBlockHeader ? asked_for - kBlockHeader : asked_for;
  }
  static constexpr size_t kBlockHeader = 3;
  static constexpr size_t kFrameBegin = 5;  // with its number, that which tells how long its header is
};

ZstdDecompressor::ZstdDecompressor() : stream_(std::make_unique<Stream>()) {}
ZstdDecompressor::~ZstdDecompressor() = default;

Status ZstdDecompressor::decompress(Bytes packed, std::string& out, size_t limit) {
  ZSTD_inBuffer input{packed.data(), 0, 0};
  const size_t step = ZSTD_DStreamOutSize();
  for (bool more = true; more;) {
    if (out.size() >= limit) return failed("cannot unpack", "", "the compressed data is implausibly large");
    const size_t before = out.size();
    out.resize(before + step);
    ZSTD_outBuffer output{out.data() + before, step, 0};
    input.size = input.pos + std::min(packed.size() - input.pos, stream_->next);
    const size_t result = ZSTD_decompressStream(stream_->handle, &output, &input);
    out.resize(before + output.pos);
    if (ZSTD_isError(result)) return failed("cannot unpack", "", ZSTD_getErrorName(result));
    stream_->next = Stream::step_after(result);
    // A full output buffer may hide more; an unread input certainly does.
    more = input.pos < packed.size() || output.pos == step;
  }
  return {};
}

struct ZstdCompressor::Stream {
  ZSTD_CCtx* handle = ZSTD_createCCtx();
  ~Stream() { ZSTD_freeCCtx(handle); }

  Status run(Bytes bytes, ZSTD_EndDirective end, std::string& out) {
    if (handle == nullptr) return failed("cannot compress", "", "there is not enough memory");
    ZSTD_inBuffer input{bytes.data(), bytes.size(), 0};
    const size_t step = ZSTD_CStreamOutSize();
    for (bool more = true; more;) {
      const size_t before = out.size();
      out.resize(before + step);
      ZSTD_outBuffer output{out.data() + before, step, 0};
      const size_t left = ZSTD_compressStream2(handle, &output, &input, end);
      out.resize(before + output.pos);
      if (ZSTD_isError(left)) return failed("cannot compress", "", ZSTD_getErrorName(left));
      more = end == ZSTD_e_continue ? input.pos < input.size : left != 0;
    }
    return {};
  }
};

ZstdCompressor::ZstdCompressor(int level) : stream_(std::make_unique<Stream>()) {
  constexpr int kFirstLevelWithLargerTables = 20;
  ZSTD_CCtx_setParameter(stream_->handle, ZSTD_c_compressionLevel, level);
  if (level < kFirstLevelWithLargerTables) return;
  // The sizes of the level before.
  ZSTD_CCtx_setParameter(stream_->handle, ZSTD_c_windowLog, 23);
  ZSTD_CCtx_setParameter(stream_->handle, ZSTD_c_chainLog, 24);
  ZSTD_CCtx_setParameter(stream_->handle, ZSTD_c_hashLog, 22);
}
ZstdCompressor::~ZstdCompressor() = default;
ZstdCompressor::ZstdCompressor(ZstdCompressor&&) noexcept = default;
ZstdCompressor& ZstdCompressor::operator=(ZstdCompressor&&) noexcept = default;

Status ZstdCompressor::compress(Bytes bytes, std::string& out) { return stream_->run(bytes, ZSTD_e_continue, out); }

Status ZstdCompressor::finish(std::string& out) { return stream_->run({}, ZSTD_e_end, out); }

Status ZstdCompressor::flush(std::string& out) { return stream_->run({}, ZSTD_e_flush, out); }

}  // namespace tephra::base
