#include "base/bytes.h"

#include <gtest/gtest.h>

#include <array>

namespace tephra::base {
namespace {

TEST(ByteReader, ReadsInOrderAndStopsAtTheEnd) {
  const std::array<uint8_t, 7> data{1, 2, 0, 'h', 'i', 0, 9};
  ByteReader reader(std::as_bytes(std::span(data)));
  EXPECT_EQ(reader.u8(), 1);
  EXPECT_EQ(reader.u16(), 2);
  EXPECT_EQ(reader.c_string(), "hi");
  EXPECT_TRUE(reader.ok());
  EXPECT_EQ(reader.remaining(), 1u);
  EXPECT_EQ(reader.u64(), 0u);
  EXPECT_FALSE(reader.ok());
}

TEST(ByteReader, FailsForGood) {
  const std::array<uint8_t, 4> data{1, 2, 3, 4};
  ByteReader reader(std::as_bytes(std::span(data)));
  EXPECT_TRUE(reader.bytes(5).empty());
  EXPECT_EQ(reader.u8(), 0);
  EXPECT_FALSE(reader.ok());
}

TEST(ByteReader, TextWithoutItsNulFails) {
  ByteReader reader(as_bytes("abc"));
  EXPECT_EQ(reader.c_string(), "");
  EXPECT_FALSE(reader.ok());
}

}  // namespace
}  // namespace tephra::base
