#include "collect/ring_sizes.h"

#include <gtest/gtest.h>

namespace tephra::collect {
namespace {

TEST(RingSizes, RingsHoldAQuarterOfASecond) {
  EXPECT_EQ(plain_ring_bytes(0), kDefaultRingBytes);
  EXPECT_EQ(plain_ring_bytes(4000), kDefaultRingBytes);
  for (const uint64_t rate : {10'000, 20'000, 50'000}) EXPECT_GE(plain_ring_bytes(rate), rate * 256 / 4) << rate;
  EXPECT_EQ(plain_ring_bytes(~uint64_t{0}), uint64_t{4} << 20);
}

TEST(RingSizes, RingsHoldTheCopiesOfTenMilliseconds) {
  EXPECT_EQ(copy_ring_bytes(0), uint64_t{2} << 20);
  for (const uint64_t rate : {99, 4000, 4500, 5000, 10'000, 30'000}) {
    EXPECT_GE(copies_at_once(copy_ring_bytes(rate)), rate / 100) << rate;
  }
  EXPECT_EQ(copy_ring_bytes(~uint64_t{0}), uint64_t{16} << 20);
  EXPECT_GT(copies_at_once(0), 0u);
}

}  // namespace
}  // namespace tephra::collect
