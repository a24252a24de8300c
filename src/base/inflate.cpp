#include "base/inflate.h"

#include <libdeflate.h>

#include <memory>

namespace tephra::base {

bool inflate_into(Bytes compressed, std::span<std::byte> output) {
  struct Free {
    void operator()(libdeflate_decompressor* decompressor) const { ::libdeflate_free_decompressor(decompressor); }
  };
  const std::unique_ptr<libdeflate_decompressor, Free> decompressor(::libdeflate_alloc_decompressor());
  if (decompressor == nullptr) return false;
  // Without a place for the number of bytes that came out, any other number than that of `output` is an error.
  return ::libdeflate_zlib_decompress(decompressor.get(), compressed.data(), compressed.size(), output.data(),
                                      output.size(), nullptr) == LIBDEFLATE_SUCCESS;
}

}  // namespace tephra::base
