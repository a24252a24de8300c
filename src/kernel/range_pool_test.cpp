#include "kernel/range_pool.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

namespace tephra::kernel {
namespace {

using std::chrono::seconds;

TEST(RangePool, RangesRestBeforeTheyAreHandedOutAgain) {
  const RangePool::Clock::time_point start{};
  RangePool pool(10, seconds(2));
  EXPECT_EQ(pool.take(6, start), 0u);
  EXPECT_EQ(pool.take(5, start), std::nullopt);
  EXPECT_EQ(pool.take(4, start), 6u);
  pool.give_back(0, 6, start);
  EXPECT_EQ(pool.taken(), 4u);
  EXPECT_EQ(pool.take(1, start + seconds(1)), std::nullopt);
  EXPECT_EQ(pool.take(1, start + seconds(2)), 0u);
  EXPECT_EQ(pool.take(0, start + seconds(2)), 0u);
}

TEST(RangePool, NeighboursAreJoined) {
  const RangePool::Clock::time_point start{};
  RangePool pool(9, seconds(0));
  for (uint32_t first : {0u, 3u, 6u}) EXPECT_EQ(pool.take(3, start), first);
  for (uint32_t first : {0u, 6u, 3u}) pool.give_back(first, 3, start);
  EXPECT_EQ(pool.take(9, start), 0u);
}

TEST(RangePool, NeverHandsOutAPlaceTwice) {
  std::mt19937 random(1);
  RangePool pool(500, seconds(1));
  RangePool::Clock::time_point now{};
  std::map<uint32_t, uint32_t> taken;
  std::vector<bool> used(500);
  for (int i = 0; i < 20000; ++i) {
    now += std::chrono::milliseconds(random() % 100);
    if (random() % 2 == 0) {
      const uint32_t count = 1 + random() % 40;
      const auto first = pool.take(count, now);
      if (!first) continue;
      for (uint32_t at = *first; at < *first + count; ++at) {
        ASSERT_LT(at, used.size());
        ASSERT_FALSE(used[at]);
        used[at] = true;
      }
      taken[*first] = count;
    } else if (!taken.empty()) {
      const auto it = std::next(taken.begin(), static_cast<long>(random() % taken.size()));
      for (uint32_t at = it->first; at < it->first + it->second; ++at) used[at] = false;
      pool.give_back(it->first, it->second, now);
      taken.erase(it);
    }
  }
  for (const auto& [first, count] : taken) pool.give_back(first, count, now);
  EXPECT_EQ(pool.taken(), 0u);
  EXPECT_EQ(pool.take(500, now + seconds(1)), 0u);
}

}  // namespace
}  // namespace tephra::kernel
