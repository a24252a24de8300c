#include "analysis/top.h"

#include <gtest/gtest.h>

#include "analysis/profile_for_tests.h"

namespace tephra::analysis {
namespace {

TEST(TopFunctions, SelfIsTheInnermostFrameAndTotalWhatItCalled) {
  const auto profile = TestProfile().add("main;work;hot", 7, 700).add("main;work", 2, 200).add("main", 1, 100).finish();
  const auto top = top_functions(profile, 10);
  ASSERT_EQ(top.size(), 3u);
  EXPECT_EQ(top[0].function, "hot");
  EXPECT_EQ(top[0].module, "/bin/prog");
  EXPECT_EQ(top[0].self_count, 7u);
  EXPECT_EQ(top[0].total_value, 700u);
  EXPECT_EQ(top[1].function, "work");
  EXPECT_EQ(top[1].self_value, 200u);
  EXPECT_EQ(top[1].total_value, 900u);
  EXPECT_EQ(top[2].function, "main");
  EXPECT_EQ(top[2].total_count, 10u);
}

TEST(TopFunctions, RecursionCountsASampleOnce) {
  const auto profile = TestProfile().add("main;f;g;f;g;f", 5, 50).add("main;f;f", 1, 10).finish();
  const auto top = top_functions(profile, 10);
  ASSERT_EQ(top.size(), 3u);
  EXPECT_EQ(top[0].function, "f");
  EXPECT_EQ(top[0].self_value, 60u);
  EXPECT_EQ(top[0].total_value, 60u);
  EXPECT_EQ(top[1].function, "main");
  EXPECT_EQ(top[1].total_value, 60u);
  EXPECT_EQ(top[2].function, "g");
  EXPECT_EQ(top[2].total_value, 50u);
}

TEST(TopFunctions, SameNameInAnotherModuleIsAnotherFunction) {
  const auto profile = TestProfile().add("main;init@/lib/a.so", 3, 3).add("main;init@/lib/b.so", 2, 2).finish();
  const auto top = top_functions(profile, 2);
  ASSERT_EQ(top.size(), 2u);
  EXPECT_EQ(top[0].module, "/lib/a.so");
  EXPECT_EQ(top[0].self_count, 3u);
  EXPECT_EQ(top[1].module, "/lib/b.so");
  EXPECT_EQ(top[1].self_count, 2u);
}

TEST(TopFunctions, SamplesWithoutAStackAreNotLost) {
  const auto profile = TestProfile().add("", 4, 40).add("main", 1, 10).finish();
  const auto top = top_functions(profile, 10);
  ASSERT_EQ(top.size(), 2u);
  EXPECT_EQ(top[0].function, "[no stack]");
  EXPECT_EQ(top[0].self_value, 40u);
  EXPECT_EQ(top[0].total_value, 40u);
}

TEST(TopFunctions, EmptyProfileAndZeroLimitGiveNothing) {
  EXPECT_TRUE(top_functions(TestProfile().finish(), 10).empty());
  EXPECT_TRUE(top_functions(TestProfile().add("main", 1, 1).finish(), 0).empty());
}

}  // namespace
}  // namespace tephra::analysis
