#include "base/gzip.h"

#include <gtest/gtest.h>

#include "base/unpack.h"

namespace tephra::base {
namespace {

TEST(GzipTest, IsUnpackedToWhatItWas) {
  std::string text;
  for (int i = 0; i < 10'000; ++i) text += std::to_string(i * i % 1000) + " ";
  for (const std::string& each : {std::string(), std::string("a"), text}) {
    const auto packed = gzip(as_bytes(each));
    ASSERT_TRUE(packed.ok());
    EXPECT_EQ(packing_of(as_bytes(*packed)), "gzip");
    const auto unpacked = unpack(as_bytes(*packed), 1 << 20);
    ASSERT_TRUE(unpacked.ok());
    EXPECT_EQ(*unpacked, each);
  }
  EXPECT_LT(gzip(as_bytes(text))->size(), text.size() / 2);
}

}  // namespace
}  // namespace tephra::base
