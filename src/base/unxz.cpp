#include "base/unxz.h"

#include <lzma.h>

#include <algorithm>

namespace tephra::base {
namespace {

constexpr size_t kStep = 256 << 10;

// Decodes to the end of the stream; false when it does not end well within `limit` bytes.
bool decode(lzma_stream& stream, std::string& out, size_t limit) {
  for (;;) {
    const size_t before = out.size();
    const size_t room = std::min(kStep, limit + 1 - before);
    if (room == 0) return false;
    out.resize(before + room);
    stream.next_out = reinterpret_cast<uint8_t*>(out.data() + before);
    stream.avail_out = room;
    const lzma_ret status = ::lzma_code(&stream, LZMA_FINISH);
    out.resize(before + room - stream.avail_out);
    if (status == LZMA_STREAM_END) return out.size() <= limit;
    if (status != LZMA_OK) return false;
  }
}

}  // namespace

std::optional<std::string> unxz(Bytes compressed, size_t limit, uint64_t memory) {
  lzma_stream stream = LZMA_STREAM_INIT;
  if (::lzma_stream_decoder(&stream, memory, LZMA_CONCATENATED) != LZMA_OK) return std::nullopt;
  stream.next_in = reinterpret_cast<const uint8_t*>(compressed.data());
  stream.avail_in = compressed.size();
  std::string out;
  const bool whole = decode(stream, out, limit);
  ::lzma_end(&stream);
  if (!whole) return std::nullopt;
  return out;
}

}  // namespace tephra::base
