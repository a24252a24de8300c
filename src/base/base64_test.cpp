#include "base/base64.h"

#include <gtest/gtest.h>

namespace tephra::base {
namespace {

std::string encoded(std::string_view text) {
  std::string out = ">";
  append_base64(out, as_bytes(text));
  return out;
}

TEST(Base64, PadsEveryLength) {
  EXPECT_EQ(encoded(""), ">");
  EXPECT_EQ(encoded("f"), ">Zg==");
  EXPECT_EQ(encoded("fo"), ">Zm8=");
  EXPECT_EQ(encoded("foo"), ">Zm9v");
  EXPECT_EQ(encoded("foob"), ">Zm9vYg==");
  EXPECT_EQ(encoded("foobar"), ">Zm9vYmFy");
}

TEST(Base64, TakesAnyByte) {
  EXPECT_EQ(encoded(std::string_view("\0\xff\xfe", 3)), ">AP/+");
  EXPECT_EQ(encoded("\xfb\xff"), ">+/8=");
}

}  // namespace
}  // namespace tephra::base
