#include "base/pattern.h"

#include <gtest/gtest.h>

namespace tephra::base {
namespace {

TEST(Pattern, MatchesAnywhereInTheText) {
  const auto pattern = Pattern::compile("--focus", "foo|^bar$");
  ASSERT_TRUE(pattern);
  EXPECT_TRUE(pattern->matches("a::foo<int>"));
  EXPECT_TRUE(pattern->matches("bar"));
  EXPECT_FALSE(pattern->matches("bars"));
  EXPECT_FALSE(pattern->matches(""));
}

TEST(Pattern, SaysWhatIsWrongWithAnExpression) {
  const auto pattern = Pattern::compile("--focus", "operator(");
  ASSERT_FALSE(pattern);
  EXPECT_NE(pattern.error().what.find("--focus"), std::string::npos);
  EXPECT_EQ(pattern.error().on, "operator(");
  EXPECT_FALSE(pattern.error().why.empty());
}

TEST(Pattern, ReplacesEveryMatchAndKnowsItsGroups) {
  const auto pattern = Pattern::compile("--thread-name", "worker-([0-9]+)");
  ASSERT_TRUE(pattern);
  EXPECT_EQ(pattern->replaced("worker-1, worker-22", "w"), "w, w");
  EXPECT_EQ(pattern->replaced("worker-1", "n\\1"), "n1");
  EXPECT_TRUE(pattern->can_replace_by("\\1"));
  EXPECT_FALSE(pattern->can_replace_by("\\2"));
}

TEST(Pattern, TakesAnyBytesAndStaysLinear) {
  const auto pattern = Pattern::compile("--hide", "(a*)*b");
  ASSERT_TRUE(pattern);
  EXPECT_FALSE(pattern->matches(std::string(100'000, 'a')));
  EXPECT_TRUE(pattern->matches(std::string_view("\xff\xfe\0b", 4)));
}

}  // namespace
}  // namespace tephra::base
