#include "collect/recent_losses.h"

#include <gtest/gtest.h>

namespace tephra::collect {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;

TEST(RecentLosses, AreThoseOfTheTimeThatIsLeft) {
  RecentLosses losses;
  losses.add(10 * kSecond, 5);
  losses.add(20 * kSecond, 7);
  losses.add(20 * kSecond + 1, 1);
  losses.add(30 * kSecond, 0);
  EXPECT_EQ(losses.total(), 13u);
  losses.forget_before(10 * kSecond);
  EXPECT_EQ(losses.total(), 13u);
  losses.forget_before(10 * kSecond + 1);
  EXPECT_EQ(losses.total(), 8u);
  losses.forget_before(40 * kSecond);
  EXPECT_EQ(losses.total(), 0u);
  losses.add(50 * kSecond, 2);
  EXPECT_EQ(losses.total(), 2u);
}

}  // namespace
}  // namespace tephra::collect
