#include "base/zstd_stream.h"

#include <gtest/gtest.h>
#include <zstd.h>

namespace tephra::base {
namespace {

std::string packed(const std::string& text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 1));
  return out;
}

TEST(ZstdDecompressor, TakesAStreamInPiecesOfAnySize) {
  std::string text;
  for (int i = 0; i < 100000; ++i) text += std::to_string(i * 7919);
  const std::string frames = packed(text) + packed("and a second frame");
  for (const size_t piece : {size_t{1}, size_t{1000}, frames.size()}) {
    ZstdDecompressor zstd;
    std::string out;
    for (size_t at = 0; at < frames.size(); at += piece) {
      ASSERT_TRUE(zstd.decompress(as_bytes(std::string_view(frames).substr(at, piece)), out, SIZE_MAX).ok());
    }
    EXPECT_EQ(out, text + "and a second frame");
  }
}

TEST(ZstdDecompressor, RefusesABomb) {
  const std::string bomb = packed(std::string(64 << 20, '\0'));
  ASSERT_LT(bomb.size(), 1u << 16);
  ZstdDecompressor zstd;
  std::string out;
  EXPECT_FALSE(zstd.decompress(as_bytes(bomb), out, 1 << 20).ok());
  EXPECT_LT(out.size(), 2u << 20);
}

TEST(ZstdDecompressor, RefusesWhatIsNotZstd) {
  ZstdDecompressor zstd;
  std::string out;
  EXPECT_FALSE(zstd.decompress(as_bytes("this is plain text"), out, 1000).ok());
}

}  // namespace
}  // namespace tephra::base
