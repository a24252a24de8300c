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

// Also when all of it is given at once.
TEST(ZstdDecompressor, WhatComesBeforeADamageIsUnpacked) {
  std::string before;
  for (int i = 0; i < 300; ++i) before += std::to_string(i * 7919);
  ZstdCompressor packer(3);
  std::string good, damaged;
  ASSERT_TRUE(packer.compress(as_bytes(before), good).ok() && packer.flush(good).ok());
  ASSERT_TRUE(packer.compress(as_bytes(before + "and something else"), damaged).ok() && packer.flush(damaged).ok());
  size_t refused = 0;
  for (size_t at = 0; at < damaged.size(); ++at) {
    std::string stream = good + damaged;
    stream[good.size() + at] = static_cast<char>(~stream[good.size() + at]);
    ZstdDecompressor zstd;
    std::string out;
    refused += !zstd.decompress(as_bytes(stream), out, SIZE_MAX).ok();
    EXPECT_EQ(out.substr(0, before.size()), before) << at;
  }
  EXPECT_GT(refused, 0u);
}

TEST(ZstdDecompressor, RefusesWhatIsNotZstd) {
  ZstdDecompressor zstd;
  std::string out;
  EXPECT_FALSE(zstd.decompress(as_bytes("this is plain text"), out, 1000).ok());
}

TEST(ZstdCompressor, EverythingBeforeAFlushCanBeUnpacked) {
  for (const int level : {1, 3, 19, 22}) {
    ZstdCompressor packer(level);
    ZstdDecompressor unpacker;
    std::string unpacked;
    std::string expected;
    for (int round = 0; round < 20; ++round) {
      std::string piece;
      for (int i = 0; i < round * 500; ++i) piece += std::to_string(i * 7919 % 1000 + round);
      std::string out;
      const auto bytes = as_bytes(piece);
      ASSERT_TRUE(packer.compress(bytes.first(piece.size() / 3), out).ok());
      ASSERT_TRUE(packer.compress(bytes.subspan(piece.size() / 3), out).ok());
      ASSERT_TRUE(packer.flush(out).ok());
      expected += piece;
      ASSERT_TRUE(unpacker.decompress(as_bytes(out), unpacked, SIZE_MAX).ok());
      ASSERT_EQ(unpacked, expected) << "level " << level << ", round " << round;
    }
  }
}

TEST(ZstdCompressor, IsOneStreamThatRemembers) {
  std::string noise;
  for (uint32_t i = 0, x = 1; i < 40000; ++i) noise += static_cast<char>((x = x * 1664525 + 1013904223) >> 24);
  ZstdCompressor packer(1);
  std::string first, second;
  ASSERT_TRUE(packer.compress(as_bytes(noise), first).ok() && packer.flush(first).ok());
  ASSERT_TRUE(packer.compress(as_bytes(noise), second).ok() && packer.flush(second).ok());
  EXPECT_GT(first.size(), noise.size() / 2);
  EXPECT_LT(second.size(), noise.size() / 100);
}

}  // namespace
}  // namespace tephra::base
