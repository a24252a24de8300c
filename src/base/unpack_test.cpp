#include "base/unpack.h"

#include <gtest/gtest.h>
#include <lzma.h>
#include <zstd.h>

#include <string>

#include "base/gzip_stream.h"

namespace tephra::base {
namespace {

constexpr size_t kLimit = 64 << 20;

std::string gzipped(std::string_view text) {
  GzipCompressor compressor;
  std::string out;
  EXPECT_TRUE(compressor.compress(as_bytes(text), out).ok());
  EXPECT_TRUE(compressor.finish(out).ok());
  return out;
}

std::string zstandard(std::string_view text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
  return out;
}

std::string xz(std::string_view text) {
  std::string out(text.size() + 1024, '\0');
  size_t used = 0;
  EXPECT_EQ(lzma_easy_buffer_encode(9, LZMA_CHECK_CRC64, nullptr, reinterpret_cast<const uint8_t*>(text.data()),
                                    text.size(), reinterpret_cast<uint8_t*>(out.data()), &used, out.size()),
            LZMA_OK);
  out.resize(used);
  return out;
}

std::string some_text() {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += "line " + std::to_string(i * 7919 % 1000) + "\n";
  return text;
}

class Unpack : public testing::TestWithParam<std::string (*)(std::string_view)> {
 protected:
  static Result<std::string> unpacked(const std::string& packed, size_t limit = kLimit) {
    return unpack(as_bytes(packed), limit);
  }
};

TEST_P(Unpack, GivesBackWhatWasPacked) {
  for (const std::string& text : {some_text(), std::string("x"), std::string()}) {
    const auto out = unpacked(GetParam()(text));
    ASSERT_TRUE(out) << out.error().why;
    EXPECT_EQ(*out, text);
  }
}

TEST_P(Unpack, SeveralStreamsAreOneFile) {
  const std::string text = some_text();
  const auto out = unpacked(GetParam()(text) + GetParam()("and more"));
  ASSERT_TRUE(out) << out.error().why;
  EXPECT_EQ(*out, text + "and more");
}

TEST_P(Unpack, HoldsTheLimitToTheByte) {
  const std::string text = some_text();
  EXPECT_TRUE(unpacked(GetParam()(text), text.size()));
  EXPECT_FALSE(unpacked(GetParam()(text), text.size() - 1));
  EXPECT_FALSE(unpacked(GetParam()(text), 1));
}

TEST_P(Unpack, RefusesWhatIsCutOffAtAnyByte) {
  const std::string packed = GetParam()("the text that was packed, the text that was packed");
  for (size_t size = 0; size < packed.size(); ++size) EXPECT_FALSE(unpacked(packed.substr(0, size))) << size;
}

TEST_P(Unpack, RefusesWhatIsDamaged) {
  const std::string packed = GetParam()(some_text());
  for (size_t at = packed.size() / 4; at < packed.size(); at += packed.size() / 5) {
    std::string damaged = packed;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
    const auto out = unpacked(damaged);
    // zstd has no checksum unless it is asked for.
    if (out) {
      EXPECT_NE(*out, some_text());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Unpack, testing::Values(gzipped, zstandard, xz));

TEST(Packing, IsToldByTheFirstBytes) {
  EXPECT_EQ(packing_of(as_bytes(gzipped("x"))), "gzip");
  EXPECT_EQ(packing_of(as_bytes(zstandard("x"))), "zstd");
  EXPECT_EQ(packing_of(as_bytes(xz("x"))), "xz");
  EXPECT_EQ(packing_of(as_bytes(std::string_view("PERFILE2"))), "");
  EXPECT_EQ(packing_of({}), "");
}

TEST(Packing, SaysOfGzipWhetherItIsCutOff) {
  const auto why = [](const std::string& packed) { return unpack(as_bytes(packed), kLimit).error().why; };
  const std::string packed = gzipped(some_text());
  for (const size_t size : {size_t{5}, packed.size() / 2, packed.size() - 1}) {
    EXPECT_EQ(why(packed.substr(0, size)), "the gzip data is damaged: it is cut off") << size;
    EXPECT_EQ(why(packed + packed.substr(0, size)), "the gzip data is damaged: it is cut off") << size;
  }
  std::string damaged = packed;
  damaged[packed.size() - 6] = static_cast<char>(damaged[packed.size() - 6] ^ 1);  // of the checksum
  EXPECT_EQ(why(damaged), "the gzip data is damaged");
}

TEST(Packing, ZerosMayFollowGzip) {
  const std::string packed = gzipped("text") + std::string(512, '\0');
  EXPECT_EQ(*unpack(as_bytes(packed), kLimit), "text");
  EXPECT_FALSE(unpack(as_bytes(gzipped("text") + "rest"), kLimit));
}

// What a member says of its size must not be believed for each of them again.
TEST(Packing, ManyMembersTakeNoLongerThanTheirContent) {
  const std::string member = gzipped("x");
  std::string packed;
  for (int i = 0; i < 50'000; ++i) packed += member;
  std::string damaged = packed;
  damaged.replace(damaged.size() - 4, 4, "\xff\xff\xff\x3f");
  EXPECT_FALSE(unpack(as_bytes(damaged), size_t{1} << 30));

  const std::string zeros(32 << 20, '\0');
  const auto text = unpack(as_bytes(packed + gzipped(zeros)), kLimit);
  ASSERT_TRUE(text) << text.error().why;
  EXPECT_EQ(text->size(), 50'000 + zeros.size());
  EXPECT_TRUE(text->starts_with(std::string(50'000, 'x')));
}

}  // namespace
}  // namespace tephra::base
