#include "base/inflate.h"

#include <zlib.h>

#include <climits>

namespace tephra::base {

bool inflate_into(Bytes compressed, std::span<std::byte> output) {
  if (compressed.size() > UINT_MAX || output.size() > UINT_MAX) return false;
  z_stream stream{};
  if (::inflateInit(&stream) != Z_OK) return false;
  stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(compressed.data()));
  stream.avail_in = static_cast<uInt>(compressed.size());
  stream.next_out = reinterpret_cast<Bytef*>(output.data());
  stream.avail_out = static_cast<uInt>(output.size());
  const int status = ::inflate(&stream, Z_FINISH);
  const bool whole = status == Z_STREAM_END && stream.avail_out == 0;
  ::inflateEnd(&stream);
  return whole;
}

}  // namespace tephra::base
