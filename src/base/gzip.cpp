#include "base/gzip.h"

#include <libdeflate.h>

#include <memory>

namespace tephra::base {
namespace {

struct FreeCompressor {
  void operator()(libdeflate_compressor* compressor) const { ::libdeflate_free_compressor(compressor); }
};

}  // namespace

Result<std::string> gzip(Bytes bytes, Packing packing) {
  const int level = packing == Packing::kFast ? 1 : 6;
  const std::unique_ptr<libdeflate_compressor, FreeCompressor> compressor(::libdeflate_alloc_compressor(level));
  if (compressor == nullptr) return failed("cannot compress", "", "memory is short");
  std::string packed;
  packed.resize(::libdeflate_gzip_compress_bound(compressor.get(), bytes.size()));
  packed.resize(::libdeflate_gzip_compress(compressor.get(), bytes.data(), bytes.size(), packed.data(), packed.size()));
  return packed;
}

}  // namespace tephra::base
